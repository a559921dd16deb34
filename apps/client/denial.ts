import type { AnyToolResult } from './disposition.ts';
import { AUTHORIZATION_META } from './names.ts';

/** What the hints to a remedy are about. Any other type means nothing to this library. @see SEP-2643, Envelope */
const REMEDIES = ['task', 'url', 'authorization_remediation'] as const;

/** What a server says of a call that it did not carry out for want of permission. */
export interface Denial {
  /** Whether there is a way to get it. `undisclosed` leaves that open, and so does what cannot be understood. */
  readonly remediation: 'available' | 'unavailable' | 'undisclosed';
  /** Ways that the server names, of those that are known. None unless one is available. */
  readonly remedies: readonly (typeof REMEDIES)[number][];
}

/** The denial in an answer: a tool's result, or a task that waits for a decision. Undefined where there is none. */
export function readDenial({ _meta }: AnyToolResult): Denial | undefined {
  const envelope = _meta?.[AUTHORIZATION_META];
  if (envelope === undefined) return undefined;
  const { remediation, remediationHints } = (envelope ?? {}) as Record<string, unknown>;
  if (remediation === 'unavailable') return { remediation, remedies: [] };
  if (remediation !== 'available') return { remediation: 'undisclosed', remedies: [] };
  const hints: readonly unknown[] = Array.isArray(remediationHints) ? remediationHints : [];
  const named = new Set(hints.map((hint) => (hint as { type?: unknown } | null)?.type));
  return { remediation, remedies: REMEDIES.filter((type) => named.has(type)) };
}

/**
 * Whether a denied call may be made again as it is, once its remedy was used, and whether another authorization may be asked
 * for. Only where the server says that there is a remedy, and not while a task holds the call: that one goes on by itself.
 * `undisclosed` forbids it too, and says all the same that somebody may know a way.
 * @see SEP-2643, Envelope (DENIAL-007, DENIAL-008, DENIAL-024)
 */
export function mayRepeat(answer: AnyToolResult): boolean {
  const denial = readDenial(answer);
  return denial?.remediation === 'available' && !denial.remedies.includes('task');
}
