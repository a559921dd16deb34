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
  /** The bytes as the text that they are, if they are one: a program in base64 is still a program. */
  readonly text?: string;
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

/** The bytes of a text in base64, or of a `data:` address; undefined for any other text. */
export function binaryIn(text: string): Binary | undefined {
  if (text.length < SHORTEST) return undefined;
  const prefix = DATA_URI.exec(text)?.[0] ?? '';
  const encoded = text.slice(prefix.length);
  if (!/^[A-Za-z0-9+/]{32}/.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return undefined;
  const start = bytes.toString('hex', 0, 16);
  const type = SIGNATURES.find(([signature]) => start.startsWith(signature))?.[1];
  const inside = type === undefined ? textIn(bytes) : undefined;
  if (type === undefined && inside === undefined && prefix === '' && text.length < SHORTEST_UNKNOWN) return undefined;
  const digest = createHash('sha256').update(bytes).digest('hex');
  const found = { prefix, bytes: bytes.length, digest };
  if (inside !== undefined) return { ...found, type: 'text', text: inside };
  return { ...found, type: type ?? 'bytes of an unknown type' };
}

/** Control characters that no text has. Identifiers that happen to be base64 have some of them in their bytes. */
const NO_TEXT = /[\0-\x08\x0e-\x1f]/; // oxlint-disable-line no-control-regex -- exactly these

function textIn(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return NO_TEXT.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}
