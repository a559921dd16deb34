import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findTemporalProgram, type TemporalProgramOptions } from '../../../../apps/shared/embedded/temporal-program.ts';

let folder: string;
let options: TemporalProgramOptions & { tried: string[] };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'temporal-program-'));
  mkdirSync(join(folder, 'bin'));
  const searchPath = [join(folder, 'bin'), '/usr/bin', '/bin'].join(delimiter);
  // A proxy on a closed port: the download fails at once with any network.
  const nowhere = 'http://127.0.0.1:9';
  const variables = { PATH: searchPath, HTTPS_PROXY: nowhere, https_proxy: nowhere, TMPDIR: folder };
  options = { searchPath, cacheDir: join(folder, 'cache'), variables, tried: [] };
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function script(file: string, body: string): string {
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

const fakeGo = (version: string, install: string) =>
  script(
    join(folder, 'bin', 'go'),
    `if [ "$1" = env ]; then echo go${version}; exit; fi\necho "$*" >> ${folder}/go.log\n${install}`,
  );
const built = () => join(folder, 'cache', 'temporal-cli-1.5.1', 'temporal');

describe('findTemporalProgram', () => {
  it('prefers `temporal` on the PATH', async () => {
    const path = script(join(folder, 'bin', 'temporal'), '');
    script(built(), '');
    expect(await findTemporalProgram(options)).toMatchObject({ path });
  });

  it('uses the program that an earlier start built or downloaded, without the network', async () => {
    const downloaded = script(join(folder, 'cache', 'temporal-sdk', 'temporal-sdk-typescript-1'), '');
    writeFileSync(join(folder, 'cache', 'temporal-sdk', 'other.downloading'), '');
    expect(await findTemporalProgram(options)).toMatchObject({ path: downloaded });
    script(built(), '');
    expect(await findTemporalProgram(options)).toMatchObject({ path: built() });
  });

  it('builds it with Go when it cannot be downloaded, once for all simultaneous callers', async () => {
    fakeGo('1.26.1', 'echo "#!/bin/sh" > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"');
    const progress: string[] = [];
    const asked = { ...options, onProgress: (line: string) => progress.push(line) };
    const found = await Promise.all([findTemporalProgram(asked), findTemporalProgram(asked)]);
    expect(found.map((program) => program?.path)).toEqual([built(), built()]);
    expect(readdirSync(join(folder, 'cache')).sort()).toEqual(['temporal-cli-1.5.1', 'temporal-sdk']);
    expect(progress.filter((line) => line.startsWith('Building'))).toHaveLength(1);
  });

  it('leaves no partial file when the build fails, and says why', async () => {
    fakeGo('1.26.1', 'echo half > "$GOBIN/temporal"; echo "dial tcp: no such host" >&2; exit 1');
    expect(await findTemporalProgram(options)).toBeUndefined();
    expect(existsSync(built())).toBe(false);
    expect(options.tried.join('\n')).toMatch(/on the PATH: not found[^]*downloads it: [^]*no such host/);
  });

  it('does not try with a Go that is too old', async () => {
    fakeGo('1.24.9', 'exit 0');
    expect(await findTemporalProgram(options)).toBeUndefined();
    expect(options.tried.at(-1)).toMatch(/Go 1\.24 is too old; install Go 1\.25 or newer/);
    expect(existsSync(join(folder, 'go.log'))).toBe(false);
  });
});
