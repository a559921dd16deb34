import { hkdfSync } from 'node:crypto';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import type * as z from 'zod';

const KEY_BYTES = 32;

/** Seals what leaves this process and comes back to it. */
export interface Sealer<Content> {
  /** A JWE in compact form that opens for this many seconds. */
  seal(content: Content, seconds: number): Promise<string>;
  /** Undefined for anything that was not sealed here, for another purpose or secret, or is over. */
  open(sealed: string): Promise<Content | undefined>;
}

/**
 * A sealer for one purpose: what is sealed for another one does not open here, though both have one secret. Who holds
 * the sealed text reads and changes nothing.
 * @see RFC 7516 (`dir`, `A256GCM`); RFC 5869 for the key
 */
export function createSealer<Content extends object>(
  { secret, purpose }: { readonly secret: string; readonly purpose: string },
  schema: z.ZodType<Content>,
): Sealer<Content> {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', `countersign ${purpose}`, KEY_BYTES));
  return {
    seal: (content, seconds) =>
      new EncryptJWT({ content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(purpose)
        .setExpirationTime(`${seconds} seconds`)
        .encrypt(key),

    async open(sealed) {
      try {
        const { payload } = await jwtDecrypt(sealed, key, {
          audience: purpose,
          requiredClaims: ['exp'],
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        return schema.safeParse(payload['content']).data;
      } catch (error) {
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
}
