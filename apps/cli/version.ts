import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { packagePath } from '../shared/config/files.ts';

/** The version of this package. */
export function version(): string {
  return z.looseObject({ version: z.string() }).parse(JSON.parse(readFileSync(packagePath('package.json'), 'utf8')))
    .version;
}
