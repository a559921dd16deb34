import { createHash } from 'node:crypto';

/** Bytes that a text has in base64. */
export interface Binary {
  /** The beginning of a `data:` address, which may name a type; else empty. */
  readonly prefix: string;
  /** By the first bytes, not by what the caller says. */
  readonly type: string;
  readonly bytes: number;
  /** SHA-256 of the bytes, in lower-case hex. */
  readonly digest: string;
}

/** First bytes of common types, in hex. */
const SIGNATURES = [
  ['89504e470d0a1a0a', 'PNG image'],
  ['ffd8ff', 'JPEG image'],
  ['474946383761', 'GIF image'],
  ['474946383961', 'GIF image'],
  ['25504446', 'PDF document'],
  ['504b0304', 'ZIP archive'],
  ['1f8b08', 'gzip archive'],
  ['7f454c46', 'ELF program'],
  ['4d5a9000', 'Windows program'],
  ['0061736d', 'WebAssembly program'],
  ['cafebabe', 'Java class or macOS program'],
  ['53514c69746520666f726d6174', 'SQLite database'],
] as const;

/** A shorter text is drawn as it is. */
const SHORTEST = 64;
/** A text of no known type has to be longer, because long identifiers and paths may consist of the same characters. */
const SHORTEST_UNKNOWN = 1_024;
const DATA_URI = /^data:[\w.+-]+\/[\w.+-]+;base64,/;

/** The bytes of a text in base64, or of a `data:` address; undefined for any other text, and for text within base64. */
export function binaryIn(text: string): Binary | undefined {
  if (text.length < SHORTEST) return undefined;
  const prefix = DATA_URI.exec(text)?.[0] ?? '';
  const encoded = text.slice(prefix.length);
  if (!/^[A-Za-z0-9+/]{32}/.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return undefined;
  const start = bytes.toString('hex', 0, 16);
  const type = SIGNATURES.find(([signature]) => start.startsWith(signature))?.[1];
  if (type === undefined && prefix === '' && text.length < SHORTEST_UNKNOWN) return undefined;
  if (type === undefined && isText(bytes)) return undefined;
  const digest = createHash('sha256').update(bytes).digest('hex');
  return { prefix, type: type ?? 'bytes of an unknown type', bytes: bytes.length, digest };
}

function isText(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
