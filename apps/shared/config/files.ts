import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Settings that name a file. Each is the only member of its object, except for those that say how the file is used. */
const FILE_KEYS = new Set(['file', 'flagsFile']);
const USE_KEYS = new Set(['scheme']);

/** Returns the settings with absolute file names. A relative name starts at `baseDir`, not at the folder of the process. */
export function withAbsoluteFiles<T>(settings: T, baseDir: string): T {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) return settings;
  const entries = Object.entries(settings);
  const [only, ...others] = entries.flatMap(([key]) => (USE_KEYS.has(key) ? [] : [key]));
  const isFile = others.length === 0 && FILE_KEYS.has(only ?? '');
  const absolute = (key: string, value: unknown) =>
    isFile && key === only && typeof value === 'string' ? resolve(baseDir, value) : withAbsoluteFiles(value, baseDir);
  return Object.fromEntries(entries.map(([key, value]) => [key, absolute(key, value)])) as T;
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
