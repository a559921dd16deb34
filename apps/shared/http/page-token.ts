import { hkdfSync } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import * as z from 'zod';

/** The request that a token belongs to. */
interface PageScope {
  readonly requester: string;
  /** Of the request. */
  readonly digest: string;
}

const claims = z.object({
  /** The last candidate that was examined; absent before the first. */
  after: z.string().optional(),
  limit: z.number().int().nonnegative().optional(),
});
/** The position at which a list continues. */
export type PagePosition = Readonly<z.infer<typeof claims>>;
export type SealedPages = ReturnType<typeof createSealedPages>;

const SEALING = { alg: 'dir', enc: 'A256GCM' } as const;

/**
 * Page tokens are encrypted, because the caller may not be allowed to know the last candidate. Their key is derived from a signing key
 * for one purpose: tokens outlive a restart, any replica with that key accepts them, and a new signing key ends them. They grant no
 * access: each page is decided anew.
 *
 * @param secret The private part of the service's signing key.
 */
export function createSealedPages(secret: string, purpose: string) {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32));
  return {
    seal: (position: PagePosition, { requester, digest }: PageScope): Promise<string> =>
      new EncryptJWT({ ...position })
        .setProtectedHeader(SEALING)
        .setSubject(requester)
        .setAudience(digest)
        .encrypt(key),
    /** Undefined for a token that was altered, or made by another key or for another request. The reason is not told. */
    async open(token: string, { requester, digest }: PageScope): Promise<PagePosition | undefined> {
      try {
        const { payload } = await jwtDecrypt(token, key, {
          subject: requester,
          audience: digest,
          keyManagementAlgorithms: [SEALING.alg],
          contentEncryptionAlgorithms: [SEALING.enc],
        });
        return claims.parse(payload);
      } catch {
        return undefined;
      }
    },
  };
}
