import { readFileSync, statSync } from 'node:fs';
import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { EMPTY_DIRECTORY, readDirectory, type Directory, type SubjectAttribute } from './directory.ts';

/** How old what is known of the file may be. */
const LOOK_EVERY_MS = 1_000;

export interface DirectorySettings {
  /** Absolute path of a SCIM list; without it nobody is in any group. */
  readonly file?: string | undefined;
  readonly subjectAttribute: SubjectAttribute;
}

/** The directory as it is now. A broken edit leaves the last good one in force, and says so once. */
export type DirectorySource = () => Directory;

/** Throws `ERR_CONFIG_INVALID` when the file cannot be used at the start. */
export function openDirectory({ file, subjectAttribute }: DirectorySettings, log: Logger): DirectorySource {
  if (file === undefined) return () => EMPTY_DIRECTORY;
  let version = versionOf(file);
  let current = read(file, subjectAttribute);
  let lookedAt = performance.now();
  return () => {
    if (performance.now() - lookedAt < LOOK_EVERY_MS) return current;
    lookedAt = performance.now();
    const found = versionOf(file);
    if (found === version) return current;
    version = found;
    try {
      current = read(file, subjectAttribute);
      log.info({ people: current.people.length, groups: current.groups.size }, 'the directory was read anew');
    } catch (err) {
      log.error({ err, alarm: 'directory_invalid' }, 'the directory cannot be read; the one before stays in force');
    }
    return current;
  };
}

/** Differs whenever the file was written; undefined while there is none. */
function versionOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.mtimeNs} ${stat.size} ${stat.ino}`;
}

function read(file: string, subjectAttribute: SubjectAttribute): Directory {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new CountersignError('ERR_CONFIG_INVALID', `directory: ${file} cannot be read`, { cause });
  }
  return readDirectory(text, subjectAttribute);
}
