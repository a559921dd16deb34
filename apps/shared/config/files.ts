import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Settings that name a file. Each is the only member of its object. */
const FILE_KEYS = new Set(['file', 'flagsFile']);

/** Returns the settings with absolute file names. A relative name starts at `baseDir`, not at the folder of the process. */
export function withAbsoluteFiles<T>(settings: T, baseDir: string): T {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) return settings;
  const entries = Object.entries(settings);
  const isFile = entries.length === 1 && FILE_KEYS.has(entries[0]?.[0] ?? '');
  const absolute = (value: unknown) =>
    isFile && typeof value === 'string' ? resolve(baseDir, value) : withAbsoluteFiles(value, baseDir);
  return Object.fromEntries(entries.map(([key, value]) => [key, absolute(value)])) as T;
}

/** A file or folder of this package, whether it runs from source or from `dist`. */
export function packagePath(...parts: string[]): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('no package.json in any folder above this file');
    folder = parent;
  }
  return join(folder, ...parts);
}
