import type { Sha256 } from './call-binding.ts';

/**
 * Id of the claim of one generation. Derived, not random: whoever repeats the claim after a commit whose answer was lost
 * finds its own claim. The first sixteen bytes of a SHA-256 in the form of a version 8 UUID (RFC 9562 section 5.8).
 */
export function claimIdOf(gatedCallId: string, generation: number, sha256: Sha256): string {
  const hex = sha256(`execution-claim/${gatedCallId}/${generation}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
