import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import process from 'node:process';
import * as z from 'zod';
import { packagePath } from '../shared/config/files.ts';

const PUBLISHED = 'npx countersign';
/** What npm writes beside the packages that `npx` fetched: how they were called, and where they are from. */
const fetched = z.object({
  _npx: z.object({ packages: z.tuple([z.string()]) }),
  dependencies: z.object({ countersign: z.string() }),
});
const FILE = 'file:';

/** How a person starts the package in `root` again, in the folder `cwd`: from a checkout, by the file of the package, or by its name. */
export function commandFor(root: string, cwd: string): string {
  const nearby = (path: string) => {
    const way = relative(cwd, path);
    return way.startsWith('..') || isAbsolute(way) ? path : way;
  };
  if (existsSync(join(root, 'tsconfig.build.json')))
    return `node ${quoted(nearby(join(root, 'apps/cli/countersign.mjs')))}`;
  const folder = join(root, '..', '..');
  const { data } = fetched.safeParse(contentOf(join(folder, 'package.json')));
  if (data === undefined) return PUBLISHED;
  const [called] = data._npx.packages;
  const { countersign: origin } = data.dependencies;
  if (!origin.startsWith(FILE)) return `npx ${quoted(called)}`;
  const file = resolve(folder, origin.slice(FILE.length));
  const isCalledSo = resolve(cwd, called.startsWith(FILE) ? called.slice(FILE.length) : called) === file;
  // Called in the same way, it is not fetched again. npx takes a bare absolute path for a program.
  return `npx ${quoted(isCalledSo ? called : `${FILE}${file}`)}`;
}

function contentOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** As a shell reads it. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./\\-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** The beginning of each command line that we tell a person to run. */
export const OWN_COMMAND: string = commandFor(packagePath(), process.cwd());
