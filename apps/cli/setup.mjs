// Takes a bare clone to a running command: installs, generates, builds what is missing or out of date, says what it
// does on stderr, and then runs the command in this very process. Needs nothing but Node.
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
/** A lock that names no holder this long after it was made has lost it in that very moment. */
const NAMELESS_LOCK_MS = 10_000;

/** What the person at the terminal can do something about: told without a stack. */
class SetupError extends Error {}

/**
 * Brings the checkout up to date; does nothing, and says nothing, when it is. With `dev: false` nothing is installed
 * or built: what is missing is an error.
 */
export async function setUp({ dev }) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    throw new SetupError(
      `Countersign needs Node.js ${OLDEST_NODE.join('.')} or newer; this is ${process.versions.node}.`,
    );
  }
  if (!dev) {
    if (existsSync(path('dist/apps/cli/main.js'))) return;
    throw new SetupError(`There is no build in ${path('dist')}; run \`npm ci && npm run build\` there.`);
  }
  const steps = [
    { isDone: isInstalled, run: install },
    { isDone: isGenerated, run: generate },
    { isDone: isBuilt, run: build },
    { isDone: isBundled, run: bundle },
  ];
  if (steps.every((step) => step.isDone())) return;
  await alone(async () => {
    for (const step of steps) if (!step.isDone()) await step.run();
  });
}

/** Becomes the product's command line, in this process, so that signals reach it directly. */
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

function lockDigest() {
  return createHash('sha256')
    .update(readFileSync(path('package-lock.json')))
    .digest('hex');
}

function isInstalled() {
  if (read(LOCK_STAMP) === lockDigest()) return true;
  if (!holdsLockedPackages()) return false;
  // Installed by hand.
  writeFileSync(LOCK_STAMP, lockDigest());
  return true;
}

/** Whether npm's own record of what it installed has every package of the lock file, in its version. */
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
  const began = begin('Installing packages (once; about half a minute)');
  rmSync(LOCK_STAMP, { force: true });
  // npm tells where it is when it started us; a plain `node` call leaves that to the PATH.
  const { npm_execpath: npm = '' } = process.env;
  const command = /npm-cli[.]js$/.test(npm) ? [process.execPath, npm] : ['npm'];
  await run(command, ['ci', '--loglevel=error'], { shown: true });
  writeFileSync(LOCK_STAMP, lockDigest());
  end(began, 'Packages are installed');
}

function isGenerated() {
  const made = time(path('prisma/generated/client.ts'));
  return made >= Math.max(time(path('prisma/schema.prisma')), time(path('node_modules/prisma/package.json')));
}

async function generate() {
  const began = begin('Generating the database client');
  await run([process.execPath], ['node_modules/prisma/build/index.js', 'generate']);
  // Files that come out the same keep their times.
  touch(path('prisma/generated/client.ts'), Date.now());
  end(began, 'The database client is generated');
}

function isBuilt() {
  const built = time(BUILD_STAMP);
  if (built === 0 || !existsSync(path('dist/apps/cli/main.js'))) return false;
  if (BUILD_SETTINGS.some((name) => time(path(name)) > built)) return false;
  return SOURCES.every((folder) => newest(path(folder)) <= built);
}

async function build() {
  const began = begin('Building');
  const startedAt = Date.now();
  const tsc = ['node_modules/typescript/bin/tsc', '--build', 'tsconfig.build.json', 'tsconfig.client.json'];
  await run([process.execPath], tsc);
  // What was edited while the compiler ran is newer than this.
  writeFileSync(BUILD_STAMP, '');
  touch(BUILD_STAMP, startedAt);
  end(began, 'The build is complete');
}

function isBundled() {
  if (!existsSync(path('dist/apps/shared/temporal/bundle.js'))) return true;
  return time(BUNDLE) >= newest(path('workflows'));
}

async function bundle() {
  const began = begin('Bundling the workflows');
  await run([process.execPath], ['dist/apps/shared/temporal/bundle.js']);
  end(began, 'The workflows are bundled');
}

/** Instant of the newest TypeScript file below a folder. */
function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const name = join(folder, entry.name);
    if (entry.isDirectory()) latest = Math.max(latest, newest(name));
    else if (/[.]tsx?$/.test(entry.name)) latest = Math.max(latest, statSync(name).mtimeMs);
  }
  return latest;
}

function time(file) {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? 0 : stat.mtimeMs;
}

function touch(file, at) {
  utimesSync(file, at / 1_000, at / 1_000);
}

function read(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** Runs a tool. What it prints goes to stderr, at once when it is to be `shown`, else only when the tool fails. */
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
      reject(new SetupError(`\`${args.join(' ')}\` failed; what it said is above.`));
    });
  });
}

/** Two starts of one checkout must not build into each other: the second waits, and then finds everything done. */
async function alone(work) {
  const digest = createHash('sha256').update(realpathSync(ROOT)).digest('hex').slice(0, 16);
  const lock = join(tmpdir(), `countersign-setup-${digest}`);
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

function begin(what) {
  say(`${what} …`);
  return Date.now();
}

function end(began, what) {
  say(`${what} (${((Date.now() - began) / 1_000).toFixed(1)} s).`);
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await runCommand({ dev: true });
}
