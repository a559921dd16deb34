import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
