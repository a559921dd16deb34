import { hkdfSync } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import * as z from 'zod';

/** Where a list goes on. */
export interface PagePosition {
  /** The last candidate that was looked at; absent before the first. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** The question that a token belongs to. With any other it is worth nothing. */
export interface PageScope {
  readonly requester: string;
  /** Digest of the request. */
  readonly digest: string;
}

export interface SealedPages {
  seal(position: PagePosition, scope: PageScope): Promise<string>;
  /** Undefined for what was altered, made elsewhere, or for another question. Why is nobody's business. */
  open(token: string, scope: PageScope): Promise<PagePosition | undefined>;
}

const claims = z.object({ after: z.string().optional(), limit: z.number().int().nonnegative().optional() });
const SEALING = { alg: 'dir', enc: 'A256GCM' } as const;

/**
 * Page tokens are encrypted, since the candidate that was looked at last may be one that the caller is not told of. Their key
 * is derived from a signing key for one purpose alone: they outlive a restart, and any replica with that key takes them; a
 * new signing key ends them. They hold no authority: each page is decided afresh.
 *
 * @param secret The private part of the service's signing key.
 * @param purpose Tokens for one purpose are none for another.
 */
export function createSealedPages(secret: string, purpose: string): SealedPages {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32));
  return {
    seal: ({ after, limit }, { requester, digest }) =>
      new EncryptJWT({ ...(after !== undefined && { after }), ...(limit !== undefined && { limit }) })
        .setProtectedHeader(SEALING)
        .setSubject(requester)
        .setAudience(digest)
        .encrypt(key),
    async open(token, { requester, digest }) {
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
