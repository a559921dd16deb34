import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../apps/shared/config/files.ts';

const WHOLE = ['dist', 'apps', 'activities', 'workflows', 'prisma/migrations', 'prisma/functions'];

/** Every file below a folder of this package. */
function filesIn(folder: string): string[] {
  return readdirSync(packagePath(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe('the shipped code', () => {
  it('contains the bundle of workflows', () => {
    expect(filesIn('dist')).toContain(packagePath('dist', 'workflow-bundle.js'));
  });

  it.each(WHOLE)('contains nothing of the ways in which tests break it: %s', (folder) => {
    const files = filesIn(folder);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => /fail-?point/i.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});
