import { statSync } from 'node:fs';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Clock } from './clock.ts';
import { readTextSync } from './text-file.ts';

/** How old the known version of the file may be. */
const CHECK_EVERY_MS = 1_000;

export interface FollowedFile<T> {
  /** Absolute path. */
  readonly file: string;
  /** The setting that names it, for errors. */
  readonly setting: string;
  /** Throws `ERR_CONFIG_INVALID` for an invalid text. */
  readonly parse: (text: string) => T;
  readonly onChange: (value: T) => void;
  /** Called once for each broken edit; the last valid version stays in force. */
  readonly onFault: (error: unknown) => void;
  readonly clock: Clock;
}

/** Returns the current content of a file, at most a second old. Throws `ERR_CONFIG_INVALID` when the file is invalid at the start. */
export function followFile<T>({ file, setting, parse, onChange, onFault, clock }: FollowedFile<T>): () => T {
  const read = () => parse(readText(file, setting));
  let version = versionOf(file);
  let current = read();
  let checkedAt = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - checkedAt < CHECK_EVERY_MS) return current;
    checkedAt = clock.monotonicMs();
    const found = versionOf(file);
    if (found === version) return current;
    version = found;
    try {
      current = read();
      onChange(current);
    } catch (error) {
      onFault(error);
    }
    return current;
  };
}

/** Differs after every write to the file; undefined while there is no file. */
function versionOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.mtimeNs} ${stat.size} ${stat.ino}`;
}

function readText(file: string, setting: string): string {
  try {
    return readTextSync(file);
  } catch (cause) {
    throw new CountersignError('ERR_CONFIG_INVALID', `${setting}: ${file} cannot be read`, { cause });
  }
}
