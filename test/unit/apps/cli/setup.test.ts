import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { packagePath } from '../../../../apps/shared/config/files.ts';

/** A checkout with the real set-up and tools that only write down that they ran. */
let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'checkout-')));
  for (const name of ['setup.mjs', 'countersign.mjs']) {
    mkdirSync(join(root, 'apps', 'cli'), { recursive: true });
    cpSync(packagePath('apps', 'cli', name), join(root, 'apps', 'cli', name));
  }
  write('package.json', '{ "type": "module" }');
  lock({ one: '1.0.0' });
  for (const name of ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.client.json', 'prisma/schema.prisma'])
    write(name, '');
  for (const name of ['apps/a.ts', 'activities/a.ts', 'workflows/a.ts']) write(name, '');
  write('npm-cli.js', tool('npm', INSTALL));
});

afterEach(() => rmSync(root, { recursive: true }));

/** A checkout in which everything is done, as the set-up leaves it. */
let prepared: string | undefined;
afterAll(() => {
  if (prepared !== undefined) rmSync(prepared, { recursive: true });
});

async function prepare(): Promise<void> {
  const options = { recursive: true, preserveTimestamps: true };
  if (prepared !== undefined) return cpSync(prepared, root, options);
  await start([]);
  prepared = mkdtempSync(join(tmpdir(), 'prepared-'));
  cpSync(root, prepared, options);
}

function write(name: string, text: string): void {
  mkdirSync(join(root, name, '..'), { recursive: true });
  writeFileSync(join(root, name), text);
}

const lock = (packages: Record<string, string>, optional: Record<string, string> = {}, name = 'package-lock.json') =>
  write(
    name,
    JSON.stringify({
      packages: {
        '': {},
        ...Object.fromEntries(Object.entries(packages).map(([key, version]) => [`node_modules/${key}`, { version }])),
        ...Object.fromEntries(
          Object.entries(optional).map(([key, version]) => [`node_modules/${key}`, { version, optional: true }]),
        ),
      },
    }),
  );

const tool = (name: string, work: string) => `
import fs from 'node:fs';
fs.appendFileSync('ran', ${JSON.stringify(name)} + ' ' + process.argv.slice(2).join(' ') + '\\n');
console.log('${name} says something');
const write = (name, text) => { fs.mkdirSync(name.replace(/[/][^/]*$/, ''), { recursive: true }); fs.writeFileSync(name, text); };
${work}
`;
const MAIN = `const [, , ...args] = process.argv;
console.log(JSON.stringify(args));
if (args[0] === 'fail') process.exitCode = 3;`;
const TSC = `if (fs.existsSync('broken')) { console.error('a.ts(1,1): broken'); process.exit(2); }
write('dist/apps/cli/main.js', ${JSON.stringify(MAIN)});
write('dist/apps/shared/temporal/bundle.js', ${JSON.stringify("import fs from 'node:fs'; fs.appendFileSync('ran', 'bundle\\n'); fs.writeFileSync('dist/workflow-bundle.js', '');")});`;
const INSTALL = `fs.rmSync('node_modules', { recursive: true, force: true });
fs.mkdirSync('node_modules');
fs.copyFileSync('package-lock.json', 'node_modules/.package-lock.json');
for (const name of ['prisma', '@typescript/native']) write('node_modules/' + name + '/package.json', '{ "type": "module" }');
write('node_modules/prisma/build/index.js', ${JSON.stringify(`import fs from 'node:fs'; fs.appendFileSync('ran', 'prisma\\n'); fs.mkdirSync('prisma/generated', { recursive: true }); fs.writeFileSync('prisma/generated/client.ts', '');`)});
write('node_modules/@typescript/native/bin/tsc', fs.readFileSync('tsc.mjs', 'utf8'));`;

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** The tools that ran, in order. */
  readonly ran: string[];
}

function start(args: string[], script = 'setup.mjs'): Promise<Outcome> {
  write('tsc.mjs', tool('tsc', TSC));
  rmSync(join(root, 'ran'), { force: true });
  const env = { PATH: process.env['PATH'], npm_execpath: join(root, 'npm-cli.js') };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, 'apps', 'cli', script), ...args], { cwd: root, env }, (error, out, err) => {
      const log = join(root, 'ran');
      const ran = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
      resolve({
        code: typeof error?.code === 'number' ? error.code : 0,
        out,
        err,
        ran: ran.map((line) => line.split(' ')[0] ?? ''),
      });
    });
  });
}

const touch = (name: string, secondsFromNow: number) => {
  const at = Date.now() / 1_000 + secondsFromNow;
  utimesSync(join(root, name), at, at);
};

describe('setup.mjs', () => {
  it('takes a bare clone to a running command, and prints its steps on stderr only', async () => {
    const { code, out, err, ran } = await start(['token', '--json']);
    expect({ code, out }).toEqual({ code: 0, out: '["token","--json"]\n' });
    expect(ran).toEqual(['npm', 'prisma', 'tsc', 'tsc', 'bundle']);
    expect(err).toMatch(/^Installing packages[^]*half a minute\): done[^]*Bundling the workflows: done \(\d/);
    expect(err).not.toContain('tsc says something');
  });

  it('does nothing and prints nothing when everything is there, and hands the exit code on', async () => {
    await prepare();
    expect(await start(['fail'])).toEqual({ code: 3, out: '["fail"]\n', err: '', ran: [] });
    expect(await start(['fail'], 'countersign.mjs')).toMatchObject({ code: 3, err: '', ran: [] });
  });

  it('repeats only the steps whose inputs have changed', async () => {
    await prepare();
    touch('activities/a.ts', 5);
    expect((await start([])).ran).toEqual(['tsc', 'tsc']);
    touch('activities/a.ts', -60);
    touch('workflows/a.ts', 5);
    expect((await start([])).ran).toEqual(['tsc', 'tsc', 'bundle']);
    touch('workflows/a.ts', -60);
    touch('prisma/schema.prisma', 5);
    expect((await start([])).ran.slice(0, 2)).toEqual(['prisma', 'tsc']);
  });

  it('installs again when the lock file names other packages, not when they were installed by hand', async () => {
    await prepare();
    lock({ one: '1.0.0' }, { 'for-another-platform': '1.0.0' });
    expect((await start([])).ran).toEqual([]);
    lock({ one: '2.0.0' });
    lock({ one: '2.0.0' }, {}, 'node_modules/.package-lock.json');
    expect((await start([])).ran).toEqual([]);
    lock({ one: '3.0.0' });
    expect((await start([])).ran).toContain('npm');
  });

  it('shows the compiler’s output when it fails, and starts no command', async () => {
    write('broken', '');
    const { code, out, err } = await start(['up']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/a\.ts\(1,1\): broken[^]*failed; its output is above/);
    rmSync(join(root, 'broken'));
    expect(await start(['up'])).toMatchObject({ code: 0, ran: ['tsc', 'tsc', 'bundle'] });
  });

  it('runs once when two start at the same time', async () => {
    const [one, two] = await Promise.all([start(['one']), start(['two'])]);
    expect([one.code, two.code]).toEqual([0, 0]);
    expect(readFileSync(join(root, 'ran'), 'utf8').match(/^npm/gm)).toHaveLength(1);
  });

  it('builds nothing where there are no sources', async () => {
    rmSync(join(root, 'tsconfig.build.json'));
    expect(await start([], 'countersign.mjs')).toMatchObject({ code: 1, out: '', ran: [] });
  });
});
