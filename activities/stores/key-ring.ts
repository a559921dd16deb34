import { compactDecrypt, CompactEncrypt, decodeProtectedHeader } from 'jose';
import { CountersignError } from '../../workflows/domain/errors.ts';

/** A key of the configuration. `k`: 32 bytes, base64url. @see RFC 7518, section 6.4 */
export interface SealingKey {
  readonly kid: string;
  readonly k: string;
}

const VERSION = 1;
const CONTENT = 'A256GCM';
const WRAPPING = 'A256GCMKW';

/** Where a sealed text belongs. It is authenticated with the text, which opens nowhere else. */
interface Place {
  readonly column: string;
  readonly row: string;
}

/** The keys of the configuration, which wrap data keys. Throws `ERR_CONFIG_INVALID` when there is none. */
export function createKeyRing(keys: readonly SealingKey[]) {
  const ring = new Map(keys.map(({ kid, k }) => [kid, Buffer.from(k, 'base64url')]));
  const [current] = keys;
  const currentKey = current && ring.get(current.kid);
  if (current === undefined || currentKey === undefined) {
    throw new CountersignError('ERR_CONFIG_INVALID', 'there is no sealing key');
  }
  return {
    currentKeyId: current.kid,
    wrap: (dataKey: Uint8Array): Promise<string> =>
      new CompactEncrypt(dataKey)
        .setProtectedHeader({ alg: WRAPPING, enc: CONTENT, kid: current.kid })
        .encrypt(currentKey),
    async unwrap(wrapped: string): Promise<Uint8Array> {
      const { plaintext } = await read(wrapped, WRAPPING, (kid) => {
        const key = ring.get(kid ?? '');
        if (key !== undefined) return key;
        throw broken(`it is under the key "${kid}", which the configuration does not have among its sealing keys`);
      });
      return plaintext;
    },
  };
}

export function sealText(text: string, dataKey: Uint8Array, place: Place): Promise<string> {
  return new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: 'dir', enc: CONTENT, ...place, v: VERSION })
    .encrypt(dataKey);
}

/** Throws `ERR_SEAL_BROKEN` for a text that was altered, or sealed for another place. */
export async function openText(sealed: string, dataKey: Uint8Array, place: Place): Promise<string> {
  const { plaintext, protectedHeader: header } = await read(sealed, 'dir', () => dataKey);
  const isOfThisPlace = header['column'] === place.column && header['row'] === place.row && header['v'] === VERSION;
  if (!isOfThisPlace) throw broken('it was sealed for another place');
  return new TextDecoder().decode(plaintext);
}

async function read(jwe: string, alg: string, keyFor: (kid: string | undefined) => Uint8Array) {
  try {
    const { kid } = decodeProtectedHeader(jwe) as { kid?: string };
    const options = { keyManagementAlgorithms: [alg], contentEncryptionAlgorithms: [CONTENT] };
    return await compactDecrypt(jwe, keyFor(kid), options);
  } catch (cause) {
    if (cause instanceof CountersignError) throw cause;
    throw broken('it was altered', cause);
  }
}

export function broken(why: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_SEAL_BROKEN', `a sealed value of a gated call cannot be opened: ${why}`, { cause });
}
