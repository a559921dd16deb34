import { gcm } from '@noble/ciphers/aes.js';
import { managedNonce } from '@noble/ciphers/utils.js';
import { CountersignError } from '../../workflows/domain/errors.ts';

/** A key of the configuration. `k`: 32 bytes, base64url. @see RFC 7518, section 6.4 */
export interface SealingKey {
  readonly kid: string;
  readonly k: string;
}

const VERSION = 'v1';

/** Where a sealed text belongs. It is authenticated with the text, which opens nowhere else. */
interface Place {
  readonly column: string;
  readonly row: string;
}

/** AES-256-GCM; the library draws a nonce for each text and keeps it before the ciphertext. */
const cipher = (key: Uint8Array, associated: readonly string[]) =>
  managedNonce(gcm)(key, Buffer.from(JSON.stringify([VERSION, ...associated])));

/** The keys of the configuration, which wrap data keys. Throws `ERR_CONFIG_INVALID` when there is none. */
export function createKeyRing(keys: readonly SealingKey[]) {
  const ring = new Map(keys.map(({ kid, k }) => [kid, new Uint8Array(Buffer.from(k, 'base64url'))]));
  const [current] = keys;
  const currentKey = current && ring.get(current.kid);
  if (current === undefined || currentKey === undefined) {
    throw new CountersignError('ERR_CONFIG_INVALID', 'there is no sealing key');
  }
  return {
    currentKeyId: current.kid,
    wrap: (dataKey: Uint8Array): string =>
      `${encode(cipher(currentKey, ['data_key', current.kid]).encrypt(dataKey))}.${current.kid}`,
    unwrap(wrapped: string): Uint8Array {
      const [sealed = '', ...kid] = wrapped.split('.');
      const keyId = kid.join('.');
      const key = ring.get(keyId);
      if (key !== undefined) return decrypt(() => cipher(key, ['data_key', keyId]).decrypt(decode(sealed)));
      throw broken(`it is under the key "${keyId}", which the configuration does not have among its sealing keys`);
    },
  };
}

export function sealText(text: string, dataKey: Uint8Array, { column, row }: Place): string {
  return encode(cipher(dataKey, [column, row]).encrypt(new TextEncoder().encode(text)));
}

/** Throws `ERR_SEAL_BROKEN` for a text that was altered, or sealed for another place. */
export function openText(sealed: string, dataKey: Uint8Array, { column, row }: Place): string {
  const plain = decrypt(() => cipher(dataKey, [column, row]).decrypt(decode(sealed)));
  return new TextDecoder().decode(plain);
}

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
const decode = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'));

function decrypt(run: () => Uint8Array): Uint8Array {
  try {
    return run();
  } catch (cause) {
    throw broken('it was altered, or sealed for another place', cause);
  }
}

export function broken(why: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_SEAL_BROKEN', `a sealed value of a gated call cannot be opened: ${why}`, { cause });
}
