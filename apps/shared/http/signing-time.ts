/** How far the time of a signed message may be from ours, in seconds. @see Standard Webhooks, and Slack, Verifying requests from Slack */
export const WINDOW_SECONDS = 300;

/** Why a signed message is refused, and what its sender can do. */
export interface Unsigned {
  readonly fault: string;
  readonly nextStep: string;
}

/**
 * Why a message is refused whose signature is right. Undefined if its time is near enough. Call it only after the check of the signature:
 * others learn nothing.
 *
 * @param signedAt Seconds since 1970, as the sender wrote them.
 * @param nowMs Our time, in milliseconds since 1970.
 */
export function clockFault(signedAt: number, nowMs: number): Unsigned | undefined {
  const seconds = Math.ceil(Math.abs(nowMs / 1_000 - signedAt));
  if (seconds <= WINDOW_SECONDS) return undefined;
  return {
    fault: `the clock differs by ${seconds} seconds`,
    nextStep: `At most ${WINDOW_SECONDS} are allowed. Set the clocks of both machines, and sign a late message again.`,
  };
}

/** The fault as the title of an answer. */
export const asTitle = ({ fault }: Unsigned): string => `${fault.charAt(0).toUpperCase()}${fault.slice(1)}`;
