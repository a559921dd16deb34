import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { packagePath } from '../../apps/shared/config/files.ts';

/** Third-party programs that tests drive: `test/foreign/<name>` has their package list and the lock file. */
export interface ForeignPrograms {
  /** The newer Node.js that some bring. */
  readonly node: string;
  /** A file of one of their packages. */
  path(packageName: string, ...path: string[]): string;
}

interface Foreign {
  readonly name: string;
  /** The file that pins every package: another one means another folder. */
  readonly lock: string;
  /** Further text on which the folder depends, such as the version of a program. */
  readonly also?: string;
  readonly say: (line: string) => void;
  /** Installs into the folder, a copy of `test/foreign/<name>`. */
  readonly install: (folder: string) => Promise<void>;
}

/**
 * Installs third-party packages once, and answers their folder in the cache of programs, which outlives checkouts. There is a separate
 * folder for each lock file.
 */
export async function installOnce({ name, lock, also = '', say, install }: Foreign): Promise<string> {
  const source = packagePath('test', 'foreign', name);
  const digest = createHash('sha256')
    .update(readFileSync(join(source, lock)))
    .update(also)
    .digest('hex')
    .slice(0, 16);
  const cache = join(readEnvironment().cacheDir, 'foreign');
  const folder = join(cache, `${name}-${digest}`);
  if (existsSync(folder)) return folder;
  say(`installing ${name} from its lock file (once)`);
  mkdirSync(cache, { recursive: true });
  // Moved into place as a whole: an interrupted start leaves no folder that looks installed.
  const fresh = mkdtempSync(join(cache, '.fresh-'));
  try {
    cpSync(source, fresh, { recursive: true });
    await install(fresh);
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    // Another run was faster.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Installs packages of npm: some need another Node.js than the product. No script of a package is run. */
export async function installForeign(name: string, say: (line: string) => void): Promise<ForeignPrograms> {
  const folder = await installOnce({ name, lock: 'package-lock.json', say, install: npmCi });
  return {
    get node() {
      return newerNode(folder);
    },
    path: (...path) => join(folder, 'node_modules', ...path),
  };
}

/** npm provides Node.js as a package for each platform, and installs the one that fits. */
function newerNode(folder: string): string {
  const packages = join(folder, 'node_modules');
  const name = readdirSync(packages).find((one) => /^node-(bin-)?(linux|darwin)-/.test(one));
  if (name === undefined) throw new Error(`there is no Node.js package for ${process.platform} ${process.arch}`);
  return join(packages, name, 'bin', 'node');
}

function npmCi(folder: string): Promise<void> {
  const { npm_execpath: npm = '' } = process.env;
  const [command, ...before] = /npm-cli[.]js$/.test(npm) ? [process.execPath, npm] : ['npm'];
  const args = [...before, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return runInstaller(command, args, folder);
}

/** Runs the client of a package registry to its end. Its errors are shown. */
export function runInstaller(command: string, args: readonly string[], folder: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command} ${args.join(' ')} failed in ${folder}`)),
    );
  });
}
