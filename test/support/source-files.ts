import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../apps/shared/config/files.ts';

/** The sources below these folders, by their paths in the package. */
export const sourceFiles = (folders: readonly string[], form = /[.]tsx?$/): string[] =>
  folders.flatMap((folder) =>
    readdirSync(packagePath(folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => form.test(file))
      .map((file) => join(folder, file)),
  );
