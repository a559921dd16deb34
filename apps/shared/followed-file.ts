import { readFileSync, statSync } from 'node:fs';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Clock } from './clock.ts';

/** How old what is known of the file may be. */
const LOOK_EVERY_MS = 1_000;

export interface FollowedFile<T> {
  /** Absolute path. */
  readonly file: string;
  /** The setting that names it. */
  readonly setting: string;
  /** Throws `ERR_CONFIG_INVALID` for a text that cannot be used. */
  readonly parse: (text: string) => T;
  readonly onChange: (value: T) => void;
  /** A broken edit: what was read before stays in force. Called once for each. */
  readonly onFault: (error: unknown) => void;
  readonly clock: Clock;
}

/**
 * A file as it is now, to a second. A broken edit leaves the last good one in force. Throws `ERR_CONFIG_INVALID` when it cannot
 * be used at the start.
 */
export function followFile<T>({ file, setting, parse, onChange, onFault, clock }: FollowedFile<T>): () => T {
  const read = () => parse(readText(file, setting));
  let version = versionOf(file);
  let current = read();
  let lookedAt = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - lookedAt < LOOK_EVERY_MS) return current;
    lookedAt = clock.monotonicMs();
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

/** Differs whenever the file was written; undefined while there is none. */
function versionOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.mtimeNs} ${stat.size} ${stat.ino}`;
}

function readText(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new CountersignError('ERR_CONFIG_INVALID', `${setting}: ${file} cannot be read`, { cause });
  }
}
