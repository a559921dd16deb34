import { hkdfSync } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import * as z from 'zod';
import { BadRequest } from '../requests.ts';

/** Where a search goes on. */
export interface PagePosition {
  /** The last candidate that was looked at; absent before the first. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** The search that a token belongs to. With any other it is worth nothing. */
export interface PageScope {
  readonly requester: string;
  /** Digest of the request. */
  readonly digest: string;
}

export interface PageTokens {
  seal(position: PagePosition, scope: PageScope): Promise<string>;
  /** Throws `BadRequest` for what was altered, made elsewhere, or for another search. */
  open(token: string, scope: PageScope): Promise<PagePosition>;
}

const claims = z.object({ after: z.string().optional(), limit: z.number().int().nonnegative().optional() });
const SEALING = { alg: 'dir', enc: 'A256GCM' } as const;

/**
 * Page tokens are encrypted, since the candidate that was looked at last may be one that the caller is not told of. Their key
 * is derived from the PDP's signing key for this alone: they outlive a restart, and any replica with that key takes them; a
 * new signing key ends them. They hold no authority: each page is decided afresh.
 *
 * @param secret The private part of the PDP's signing key.
 */
export function createPageTokens(secret: string): PageTokens {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'countersign pdp search page', 32));
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
        // Why it cannot be opened is nobody's business.
        throw new BadRequest('page.token is none of this search: repeat the first request unchanged, or begin again');
      }
    },
  };
}
