import { spawnSync, type StdioOptions } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { packagePath } from '../../../../apps/shared/config/files.ts';
import { createLogger } from '../../../../apps/shared/logger.ts';
import { waitFor } from '../../../support/wait-for.ts';

let stateDir: string;
let shown: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'logger-'));
  shown = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    shown += String(chunk);
    return true;
  });
});

afterEach(() => {
  jest.restoreAllMocks();
  rmSync(stateDir, { recursive: true });
});

/** Runs a module of its own in a process, whose standard output goes to `stdout`. */
function runScript(script: string, stdout: number | 'pipe' = 'pipe') {
  const modules = ['--no-warnings', '--import', './test/support/typescript.mjs', '--input-type=module'];
  const stdio: StdioOptions = ['ignore', stdout, 'pipe'];
  const options = { cwd: packagePath(), encoding: 'utf8', stdio, timeout: 60_000 } as const;
  return spawnSync(process.execPath, [...modules, '--eval', script], options);
}

const file = () => join(stateDir, 'logs', 'countersign.log');
const content = () => (existsSync(file()) ? readFileSync(file(), 'utf8') : '');
const logged = (text: string) => waitFor(() => (content().includes(text) ? content() : undefined));

describe('createLogger', () => {
  it('logs from the configured level on, and refuses an unknown level', async () => {
    const log = createLogger('gateway', { mode: 'development', stateDir, level: 'debug' });
    log.debug('a detail');
    expect(await logged('a detail')).toContain('a detail');
    expect(() => createLogger('gateway', { mode: 'development', stateDir, level: 'loud' })).toThrow(
      /COUNTERSIGN_LOG_LEVEL has to be one of debug, info/,
    );
  });

  it('keeps everything in a file that only the owner can read, and prints only warnings', async () => {
    const log = createLogger('gateway', { mode: 'development', stateDir });
    log.debug('nothing');
    log.info('opened');
    log.warn({ err: new Error('connection refused\n  at once') }, 'upstream is away');
    expect(await logged('upstream is away')).toMatch(/"name":"gateway","msg":"opened"/);
    expect(readFileSync(file(), 'utf8')).not.toContain('nothing');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(shown).toMatch(/^\d\d:\d\d:\d\d warn gateway: upstream is away: connection refused \| at once$/m);
  });

  it('writes the last words of a process that ends at once, and adds no words', () => {
    const script = `import { createLogger } from './apps/shared/logger.ts';
      createLogger('gateway', { mode: 'development', stateDir: ${JSON.stringify(stateDir)} }).info('last words');
      process.exit(3);`;
    const { status, stderr } = runScript(script);
    expect([status, stderr, content()]).toEqual([3, '', expect.stringContaining('last words')]);
  });

  it('goes on in a process whose log cannot be written, and counts the lines that it dropped', () => {
    const full = openSync('/dev/full', 'w');
    const script = `import fs from 'node:fs';
      import { createLogger } from './apps/shared/logger.ts';
      const log = createLogger('gateway', { mode: 'production' });
      const written = new Promise((resolve) => {
        log.info('kept');
        setImmediate(function more(count = 0) {
          if (count === 40) return resolve();
          log.info({ padding: 'x'.repeat(300_000) }, 'dropped in part');
          setImmediate(more, count + 1);
        });
      });
      await written;
      process.stderr.write('still here');
      // The lowest free descriptor is given out first, so the destination takes lines from here on.
      fs.closeSync(1);
      fs.openSync(${JSON.stringify(join(stateDir, 'out.log'))}, 'w');
      log.info('room again');`;
    const { status, stderr } = runScript(script, full);
    closeSync(full);
    const lines = readFileSync(join(stateDir, 'out.log'), 'utf8').trimEnd().split('\n');
    const found = lines.map((line) => JSON.parse(line) as { msg: string; dropped?: number });
    const dropped = found.find((line) => line.dropped !== undefined)?.dropped ?? 0;
    expect([status, stderr, found[0]?.msg]).toEqual([0, 'still here', 'kept']);
    expect(found.filter(({ msg }) => msg === 'dropped in part')).toHaveLength(40 - dropped);
    expect(dropped).toBeGreaterThan(0);
  });

  it('lets a process end whose log cannot be written', () => {
    const full = openSync('/dev/full', 'w');
    const script = `import { createLogger } from './apps/shared/logger.ts';
      createLogger('gateway', { mode: 'production' }).info('lost');
      setTimeout(() => process.exit(3), 100);`;
    const { status } = runScript(script, full);
    closeSync(full);
    expect(status).toBe(3);
  });

  it('names the part that a child log belongs to', () => {
    createLogger('up', { mode: 'development' }).child({ part: 'worker' }).error('stopped');
    expect(shown).toMatch(/ error worker: stopped$/m);
  });

  it('keeps tokens, cookies, secrets and arguments out [AUTHZ-005]', async () => {
    const log = createLogger('gateway', { mode: 'development', stateDir });
    const req = { headers: { authorization: 'Bearer hunter2', cookie: 'session=hunter2' } };
    log.warn(
      { req, params: { arguments: { path: 'hunter2' } }, token: 'hunter2', headers: { 'set-cookie': 'hunter2' } },
      'refused',
    );
    const text = await logged('refused');
    expect(text + shown).not.toContain('hunter2');
    expect(text.match(/\[redacted\]/g)).toHaveLength(5);
  });
});
