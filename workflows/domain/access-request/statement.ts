import { type AccessRequest, type AccessRequestStatus, isEnded } from './access-request.ts';
import type { PasskeyAssertion } from './passkey.ts';

export interface StatedPerson {
  readonly issuer?: string;
  readonly subject: string;
  /** Display name at that time. */
  readonly name?: string;
}

export interface StatedVote {
  /** The person whose vote it is. */
  readonly approver: StatedPerson;
  /** Who cast it in the approver's place, by a delegation. */
  readonly castBy?: StatedPerson;
  /** Subjects that acted for them by their token, the last first. */
  readonly actors?: readonly string[];
  /** The approver is the requester, who confirmed what their own agent asked for. */
  readonly asRequester?: true;
  readonly verdict: 'approve' | 'deny';
  readonly reason?: string;
  /** The approver's words for the agent (`isAgentMessage`). */
  readonly agentMessage?: string;
  readonly via?: string;
  /** The signature of the voter's passkey under this vote. */
  readonly passkey?: PasskeyAssertion;
  /** The grant by which the service cast it, by its id there. */
  readonly grant?: string;
  /** Digest of the preview on the page from which the vote came: `sha-256:` and 64 hex digits. */
  readonly preview?: string;
  /** Counted from 1. */
  readonly stage?: number;
  /** It no longer counted when its stage was settled: the approver had left, or was not of the stage any more. */
  readonly hasLapsed?: true;
  /** Instant (RFC 3339, UTC). */
  readonly at: string;
}

/** More time that an approver gave a stage: its end moved. Instants are RFC 3339, UTC. */
export interface StatedExtension {
  readonly by: StatedPerson;
  /** Counted from 1. */
  readonly stage: number;
  readonly from: string;
  readonly to: string;
  readonly reason?: string;
  readonly via?: string;
  readonly at: string;
}

/** An approver handed the request to another person, by their subject. Instants are RFC 3339, UTC. */
export interface StatedHandOver {
  readonly by: StatedPerson;
  readonly to: string;
  readonly at: string;
  readonly revokedAt?: string;
}

/** An approver asked the requester a question, who may have answered it. Instants are RFC 3339, UTC. */
export interface StatedQuestion {
  readonly by: StatedPerson;
  /** Subject of the approver in whose place the person asked. */
  readonly onBehalfOf?: string;
  /** Counted from 1. */
  readonly stage: number;
  readonly question: string;
  readonly via?: string;
  readonly at: string;
  readonly answer?: { readonly text: string; readonly at: string };
}

/** The statement of an access request service about one request: its status, and who decided it. */
export interface ResolutionStatement {
  /** As ARAP names it; `pending` where it was read before the end. */
  readonly status: AccessRequestStatus;
  readonly template?: string;
  readonly stages?: readonly { readonly name: string; readonly quorum?: number }[];
  readonly votes: readonly StatedVote[];
  readonly extensions?: readonly StatedExtension[];
  readonly handOvers?: readonly StatedHandOver[];
  readonly questions?: readonly StatedQuestion[];
  /** One person granted it alone, past the stages. */
  readonly breakGlass?: {
    readonly by: StatedPerson;
    readonly reason: string;
    readonly via?: string;
    readonly at: string;
  };
  readonly cancelled?: {
    readonly by?: StatedPerson;
    readonly client?: string;
    readonly reason?: string;
    readonly via?: string;
    readonly at?: string;
  };
}

/**
 * The statement as it goes on record. It is the word of the access request service, read over an authenticated connection, and no
 * finding of ours. `unreadable`: the service made one, and it could not be read.
 */
export type RecordedStatement = ({ readonly kind: 'stated' } & ResolutionStatement) | { readonly kind: 'unreadable' };

/** Ids of bundles begin with it, so that no lookup searches for one among requests. */
export const BUNDLE_PREFIX = 'arb_';

/**
 * Access requests that were submitted together. Approvers decide each by itself, and each approval is good for its item alone; the
 * client has one task for all. In the order of the submission, and never empty.
 */
export interface Bundle {
  readonly id: string;
  readonly items: readonly AccessRequest[];
}

/** The common status of all items, or `partial` where they ended differently. Only bundles are partial (ARAP-BLK-10). */
export type BundleStatus = AccessRequestStatus | 'partial';

/**
 * The status of a bundle. It follows from those of its items, at least one, and is stored nowhere, so that the two cannot disagree.
 * It says nothing about any single item.
 * @see ARAP, Response (ARAP-BLK-06)
 */
export function bundleStatus(items: readonly AccessRequestStatus[]): BundleStatus {
  const [first, ...rest] = items;
  if (first === undefined) throw new RangeError('a bundle has items');
  if (items.some((status) => !isEnded(status))) return 'pending';
  return rest.every((status) => status === first) ? first : 'partial';
}
