import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { errorCode } from './lifecycle.ts';

/**
 * Writes a file that only its owner can read. It writes a temporary file and moves it in one step, so that no process reads a partial file
 * and a crash leaves the old or the new content. `move` may refuse to replace a file.
 */
export function writePrivately(
  file: string,
  text: string,
  move: (from: string, to: string) => void = renameSync,
): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
  try {
    move(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** A file whose content others may know or have written. Its message says why, without the path. */
export class NotPrivate extends Error {}

/**
 * The text of a file that only this user can read; undefined if there is no file. Throws `NotPrivate` for a file of another user, for a
 * file that others can read or write, and for a symbolic link. Windows has no such modes: there, the profile folder protects the file.
 */
export function readPrivately(file: string): string | undefined {
  const opened = open(file);
  if (opened === undefined) return undefined;
  try {
    const { uid, mode, isFile } = withKind(opened);
    if (!isFile) throw new NotPrivate('is no ordinary file');
    if (process.getuid !== undefined) {
      if (uid !== process.getuid()) throw new NotPrivate('belongs to another user');
      const bits = mode & 0o777;
      if ((bits & 0o077) !== 0) throw new NotPrivate(`can be read by others (mode ${bits.toString(8)})`);
    }
    return readFileSync(opened, 'utf8');
  } finally {
    closeSync(opened);
  }
}

/** The checks look at the opened file, so that no process exchanges the file after them. A link is not followed. */
function open(file: string): number | undefined {
  try {
    return openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    if (errorCode(error) === 'ELOOP') throw new NotPrivate('is a symbolic link');
    if (errorCode(error) === 'EACCES') throw new NotPrivate('belongs to another user');
    throw error;
  }
}

function withKind(opened: number) {
  const stat = fstatSync(opened);
  return { uid: stat.uid, mode: stat.mode, isFile: stat.isFile() };
}
