import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../shared/error-code.ts';
import type { PolicyPlaces } from './version.ts';

/**
 * Differs whenever a file that matters was written, replaced, added or removed, by whichever way. Links are followed: a
 * deployment may swap the folder, or what it links to. Never throws: what cannot be looked at is a state like any other.
 */
export async function fingerprint({ folder, directory }: PolicyPlaces): Promise<string> {
  const paths = await readdir(folder).then(
    (names) => names.sort().map((name) => join(folder, name)),
    () => [folder],
  );
  if (directory.file !== undefined) paths.push(directory.file);
  return (await Promise.all(paths.map(stateOf))).join('\n');
}

async function stateOf(path: string): Promise<string> {
  try {
    const { mtimeNs, ctimeNs, size, ino } = await stat(path, { bigint: true });
    return `${path} ${mtimeNs} ${ctimeNs} ${size} ${ino}`;
  } catch (error) {
    return `${path} ${String(errorCode(error))}`;
  }
}
