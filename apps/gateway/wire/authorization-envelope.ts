import { AUTHORIZATION_META } from './identifiers.ts';
import type { Rendering } from './rendering.ts';

/**
 * Every denial on authorization grounds, and what its envelope says of a way out. What is refused for another reason, or ran
 * in full or in part, carries none. @see SEP-2643, Where it attaches
 */
const REMEDIATION = {
  /** The call waits as a task. */
  held: 'available',
  /** The call can become a task when what the answer asks for is given. */
  asked: 'available',
  /** Nothing can change it any more. */
  final: 'unavailable',
  /** There are too many requests: `unavailable` would deny that time helps, and `available` invite to try again (APPR-197). */
  limit: 'undisclosed',
  /** An approval could be requested, in no way that this client declared. The text of the answer says how (DENIAL-027). */
  requestable: 'undisclosed',
  /** Policy wants the caller to sign in otherwise first; what it decides then is not known. */
  stepUp: 'undisclosed',
} as const;

/** The `_meta` of a denial: the envelope, or nothing where the operator switched envelopes off. */
export function authorizationMeta(
  denial: keyof typeof REMEDIATION,
  { structuredDenials }: Pick<Rendering, 'structuredDenials'>,
): Record<string, unknown> {
  if (!structuredDenials) return {};
  const remediation = REMEDIATION[denial];
  return {
    [AUTHORIZATION_META]: {
      reason: 'insufficient_authorization',
      remediation,
      // With any other remediation there must be none (DENIAL-012), and what is asked for needs none.
      ...(denial === 'held' && { remediationHints: [{ type: 'task' }] }),
    },
  };
}
