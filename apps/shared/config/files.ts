import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What names a file has no other member than this one. */
const FILE_KEYS = new Set(['file', 'flagsFile']);

/** The same settings, with files that are found wherever the process was started: relative ones start at `baseDir`. */
export function withAbsoluteFiles<T>(settings: T, baseDir: string): T {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) return settings;
  const entries = Object.entries(settings);
  const isFile = entries.length === 1 && FILE_KEYS.has(entries[0]?.[0] ?? '');
  const absolute = (value: unknown) =>
    isFile && typeof value === 'string' ? resolve(baseDir, value) : withAbsoluteFiles(value, baseDir);
  return Object.fromEntries(entries.map(([key, value]) => [key, absolute(value)])) as T;
}

/** A file or folder of this package, wherever it is installed and whether it runs from source or from `dist`. */
export function packagePath(...parts: string[]): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('the package this file belongs to has no package.json');
    folder = parent;
  }
  return join(folder, ...parts);
}
