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

/**
 * Installs them once into the cache of programs, which outlives checkouts, in a separate folder for each lock file:
 * some need another Node.js than the product, and their packages may not mix with the product's. No script of a package
 * is run.
 */
export async function installForeign(name: string, say: (line: string) => void): Promise<ForeignPrograms> {
  const source = packagePath('test', 'foreign', name);
  const lock = readFileSync(join(source, 'package-lock.json'));
  const digest = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const cache = join(readEnvironment().cacheDir, 'foreign');
  const folder = join(cache, `${name}-${digest}`);
  if (!existsSync(folder)) {
    say(`installing ${name} from its lock file (once)`);
    mkdirSync(cache, { recursive: true });
    // Moved into place as a whole: an interrupted start leaves no folder that looks installed.
    const fresh = mkdtempSync(join(cache, '.fresh-'));
    try {
      cpSync(source, fresh, { recursive: true });
      await npmCi(fresh);
      renameSync(fresh, folder);
    } catch (error) {
      rmSync(fresh, { recursive: true, force: true });
      // Another run was faster.
      if (!existsSync(folder)) throw error;
    }
  }
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
  return new Promise((resolve, reject) => {
    const args = [...before, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`npm ci failed in ${folder}`))));
  });
}
