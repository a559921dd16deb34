import type { Request } from 'express';
import { sha256 } from '../../shared/crypto.ts';
import { csrfTokenOf } from '../../shared/http/csrf.ts';
import type { SignedIn } from '../../shared/pages/layout.tsx';
import type { Voter } from './authenticate.ts';
import type { InboxHttp } from './seat.ts';

/** The person of a page that has keys and settings. */
export interface InboxPerson extends SignedIn {
  /** What this browser needs to get notices; only where it can have them. */
  readonly push?: {
    /** Our public key, base64url. */
    readonly key: string;
    /** Tells the people of one browser apart. */
    readonly of: string;
  };
}

/** The visitor, for a page. Only a browser in which a person has signed in gets notices. */
export const personOf = (
  { push }: Pick<InboxHttp, 'push'>,
  request: Request,
  { name, subject, via }: Voter,
): InboxPerson => ({
  ...{ name, csrfToken: csrfTokenOf(request) },
  ...(push !== undefined && via === 'inbox' && { push: { key: push.publicKey, of: sha256(subject).slice(0, 16) } }),
});
