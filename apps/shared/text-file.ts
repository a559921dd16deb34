import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** How editors and shells of Windows begin a text, and the encoding that follows. */
const MARKS = [
  { mark: Buffer.from([0xef, 0xbb, 0xbf]), encoding: 'utf-8' },
  { mark: Buffer.from([0xff, 0xfe]), encoding: 'utf-16le' },
  { mark: Buffer.from([0xfe, 0xff]), encoding: 'utf-16be' },
] as const;

const markOf = (bytes: Uint8Array) => MARKS.find(({ mark }) => mark.equals(bytes.subarray(0, mark.length)));

/** The text of a file of a person, without its byte order mark. It is UTF-8, or UTF-16 where the mark says so. */
export const decodedText = (bytes: Uint8Array): string =>
  new TextDecoder(markOf(bytes)?.encoding ?? 'utf-8').decode(bytes);

/** The bytes of a new text for a file, with the byte order mark and the encoding that it had. */
export function encodedLike(before: Uint8Array, text: string): Buffer {
  const found = markOf(before);
  if (found === undefined) return Buffer.from(text);
  const bytes = Buffer.from(text, found.encoding === 'utf-8' ? 'utf8' : 'utf16le');
  return Buffer.concat([found.mark, found.encoding === 'utf-16be' ? bytes.swap16() : bytes]);
}

/** Reads a file that a person or another program wrote. Throws as `readFile` does. */
export const readText = async (file: string): Promise<string> => decodedText(await readFile(file));

/** Throws as `readFileSync` does. */
export const readTextSync = (file: string): string => decodedText(readFileSync(file));
