import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { followFile } from '../followed-file.ts';
import { EMPTY_DIRECTORY, readDirectory, type Directory, type SubjectAttribute } from './directory.ts';

export interface DirectorySettings {
  /** Absolute path of a SCIM list; without it nobody is in any group. */
  readonly file?: string | undefined;
  readonly subjectAttribute: SubjectAttribute;
}

/** The directory as it is now. A broken edit leaves the last good one in force, and says so once. */
export type DirectorySource = () => Directory;

/** Throws `ERR_CONFIG_INVALID` when the file cannot be used at the start. */
export function openDirectory(
  { file, subjectAttribute }: DirectorySettings,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
): DirectorySource {
  if (file === undefined) return () => EMPTY_DIRECTORY;
  return followFile({
    file,
    setting: 'directory',
    clock,
    parse: (text) => readDirectory(text, subjectAttribute),
    onChange: ({ people, groups }) =>
      log.info({ people: people.length, groups: groups.size }, 'the directory was read anew'),
    onFault: (err) =>
      log.error({ err, alarm: 'directory_invalid' }, 'the directory cannot be read; the one before stays in force'),
  });
}
