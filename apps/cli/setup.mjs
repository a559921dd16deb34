// Prepares a fresh clone for a command: installs, generates and builds anything missing or out of date, reports each step on
// stderr, and then runs the command in this process. It needs only Node.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OLDEST_NODE = [20, 19];
const SOURCES = ['apps', 'activities', 'workflows', 'prisma/generated'];
const BUILD_SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.client.json'];
/** The holder of a lock writes its pid at once. A lock without a pid after this time has lost its holder. */
const NAMELESS_LOCK_MS = 10_000;

/** An error that the person at the terminal can fix. It is shown without its stack. */
class SetupError extends Error {}

/** Brings the checkout up to date. With `dev: false` it installs and builds nothing: a missing build is an error. */
export async function setUp({ dev }) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    throw new SetupError(
      `Countersign needs Node.js ${OLDEST_NODE.join('.')} or newer; this is ${process.versions.node}. Install a newer version.`,
    );
  }
  if (!dev) {
    if (existsSync(path('dist/apps/cli/main.js'))) return;
    throw new SetupError(`There is no build in ${path('dist')}; run \`npm ci && npm run build\` there.`);
  }
  const steps = [
    { isDone: isInstalled, run: install, name: 'Installing packages (once; about half a minute)' },
    { isDone: isGenerated, run: generate, name: 'Generating the database client' },
    { isDone: isBuilt, run: build, name: 'Building' },
    { isDone: isBundled, run: bundle, name: 'Bundling the workflows' },
  ];
  if (steps.every((step) => step.isDone())) return;
  await alone(async () => {
    for (const step of steps) if (!step.isDone()) await timed(step);
  });
}

/** Runs the command line in this process, so that signals reach it directly. */
export async function runCommand({ dev }) {
  try {
    await setUp({ dev });
    await import(pathToFileURL(path('dist/apps/cli/main.js')).href);
  } catch (error) {
    say(error instanceof SetupError ? error.message : (error.stack ?? error));
    process.exitCode = 1;
  }
}

const path = (name) => join(ROOT, name);
const LOCK_STAMP = path('node_modules/.countersign-lock');
const BUILD_STAMP = path('dist/.built');
const BUNDLE = path('dist/workflow-bundle.js');

const digest = (content) => createHash('sha256').update(content).digest('hex');
const lockDigest = () => digest(readFileSync(path('package-lock.json')));

function isInstalled() {
  if (read(LOCK_STAMP) === lockDigest()) return true;
  if (!holdsLockedPackages()) return false;
  // A person ran npm.
  writeFileSync(LOCK_STAMP, lockDigest());
  return true;
}

/** Whether the record of npm has every package of the lock file in its version. */
function holdsLockedPackages() {
  const record = read(path('node_modules/.package-lock.json'));
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const locked = Object.entries(JSON.parse(readFileSync(path('package-lock.json'), 'utf8')).packages);
  return locked.every(([name, { version, optional }]) => {
    if (name === '' || (optional && !(name in installed))) return true;
    return installed[name]?.version === version;
  });
}

async function install() {
  rmSync(LOCK_STAMP, { force: true });
  // npm passes its own path to scripts. Without npm, the PATH decides.
  const { npm_execpath: npm = '' } = process.env;
  const command = /npm-cli[.]js$/.test(npm) ? [process.execPath, npm] : ['npm'];
  await run(command, ['ci', '--loglevel=error'], { shown: true });
  writeFileSync(LOCK_STAMP, lockDigest());
}

function isGenerated() {
  const made = time(path('prisma/generated/client.ts'));
  return made >= Math.max(time(path('prisma/schema.prisma')), time(path('node_modules/prisma/package.json')));
}

async function generate() {
  await run([process.execPath], ['node_modules/prisma/build/index.js', 'generate']);
  // Prisma does not touch a file whose content stays the same.
  touch(path('prisma/generated/client.ts'), Date.now());
}

function isBuilt() {
  const built = time(BUILD_STAMP);
  if (built === 0 || !existsSync(path('dist/apps/cli/main.js'))) return false;
  if (BUILD_SETTINGS.some((name) => time(path(name)) > built)) return false;
  return SOURCES.every((folder) => newest(path(folder)) <= built);
}

/** Without a check of types, which takes most of a compiler's time: `npm run check` and `npm run build` do it. */
async function build() {
  const startedAt = Date.now();
  for (const project of ['tsconfig.build.json', 'tsconfig.client.json'])
    await run([process.execPath], ['node_modules/@typescript/native/bin/tsc', '--project', project, '--noCheck']);
  // A file that is edited while the compiler runs stays newer than the stamp.
  writeFileSync(BUILD_STAMP, '');
  touch(BUILD_STAMP, startedAt);
}

function isBundled() {
  if (!existsSync(path('dist/apps/shared/temporal/bundle.js'))) return true;
  return time(BUNDLE) >= newest(path('workflows'));
}

const bundle = () => run([process.execPath], ['dist/apps/shared/temporal/bundle.js']);

/** Instant of the newest TypeScript file below a folder. */
function newest(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => /[.]tsx?$/.test(name));
  return Math.max(0, ...files.map((name) => time(join(folder, name))));
}

const time = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const touch = (file, at) => utimesSync(file, at / 1_000, at / 1_000);

/** The text of a file, or `undefined` without one. Another process may remove it at any moment. */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  }
}

/** Runs a tool. Its output goes to stderr: at once if `shown`, else only if the tool fails. */
function run([command, ...before], args, { shown = false } = {}) {
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', shown ? 2 : 'pipe', shown ? 2 : 'pipe'];
    const child = spawn(command, [...before, ...args], { cwd: ROOT, stdio });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (output += text));
    }
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return resolve();
      process.stderr.write(output);
      reject(new SetupError(`\`${args.join(' ')}\` failed; its output is above.`));
    });
  });
}

/** Only one process prepares a checkout at a time. A second one waits, and then finds everything done. */
async function alone(work) {
  const lock = join(tmpdir(), `countersign-setup-${digest(realpathSync(ROOT)).slice(0, 16)}`);
  while (!take(lock)) await new Promise((resolve) => setTimeout(resolve, 200));
  const release = () => rmSync(lock, { recursive: true, force: true });
  process.once('exit', release);
  try {
    await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

function take(lock) {
  try {
    mkdirSync(lock);
    writeFileSync(join(lock, 'pid'), String(process.pid));
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const holder = Number(read(join(lock, 'pid')));
    const isLost = holder > 0 ? !isAlive(holder) : Date.now() - time(lock) > NAMELESS_LOCK_MS;
    if (isLost) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

async function timed({ name, run }) {
  const began = Date.now();
  say(`${name} …`);
  await run();
  say(`${name}: done (${((Date.now() - began) / 1_000).toFixed(1)} s).`);
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await runCommand({ dev: true });
}
