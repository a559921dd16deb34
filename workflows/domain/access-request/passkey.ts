import { canonicalJson } from '../canonical-json.ts';
import type { Sha256 } from '../gated-call/call-binding.ts';

/** What a passkey confirms: one approval, of one call, in one stage. */
export interface ConfirmedVote {
  /** Subject whose vote it is. */
  readonly approver: string;
  /** Subject who casts it: the approver, or a person who stands in for them. The passkey belongs to this person. */
  readonly signer: string;
  /** Id of the access request. */
  readonly request: string;
  readonly generation: number;
  /** Counted from 1. */
  readonly stage: number;
  readonly callDigest: string;
  /** Random text of 43 characters (base64url), given out for one use. */
  readonly nonce: string;
}

/**
 * The text whose SHA-256 the passkey signs as its challenge, so that its signature is good for nothing else. RFC 8785 text, from which
 * an auditor reads what was confirmed. `approvals.use_passkey` compares it with the request.
 *
 * `call` is a digest of the call that is salted with the nonce. Auditors do not get the nonce, because with the plain digest they could
 * guess short secrets among the arguments.
 */
export const voteChallenge = (vote: ConfirmedVote, sha256: Sha256): string => {
  const { approver, signer, request, generation, stage, callDigest, nonce } = vote;
  const call = `sha-256:${sha256(`${nonce}.${callDigest}`)}`;
  return canonicalJson({
    ...{ type: 'countersign/vote', verdict: 'approve' },
    ...{ approver, signer, request, generation, stage, call },
  });
};

/**
 * The signature of a passkey under a vote, with everything that is needed to check it again. Binary values are base64url texts.
 * @see Web Authentication Level 3, section 7.2
 */
export interface PasskeyAssertion {
  readonly credentialId: string;
  /** COSE key, as it was registered. */
  readonly publicKey: string;
  readonly authenticatorData: string;
  readonly clientDataJSON: string;
  readonly signature: string;
  /** The text that was signed (`voteChallenge`). */
  readonly challenge: string;
  /** With which its `call` is salted. Absent in what auditors see. */
  readonly nonce?: string;
}
