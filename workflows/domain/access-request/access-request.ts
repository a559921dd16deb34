import type { Action, Resource, Subject } from '../authzen/evaluation.ts';
import type { Effect } from '../tools/tool-facts.ts';
import type { Outline } from './outline.ts';
import type { Extension } from './extension.ts';
import type { RequesterQuestion } from './requester-question.ts';
import type { ResolverAnswer } from './automatic.ts';
import type { Stage } from './stages.ts';

/** Every status of an access request, as ARAP names them on the wire. All but the first are ends. */
export const ACCESS_REQUEST_STATUSES = ['pending', 'approved', 'denied', 'expired', 'cancelled', 'failed'] as const;

export type AccessRequestStatus = (typeof ACCESS_REQUEST_STATUSES)[number];

/** Whether an access request with this status is over: the database refuses every change but the one from pending (ARAP-STS-04). */
export const isEnded = (status: AccessRequestStatus): boolean => status !== 'pending';

export const VERDICTS = ['approve', 'deny'] as const;
export type Verdict = (typeof VERDICTS)[number];

/**
 * The ways by which a vote can arrive: four for people, one for supervising agents, one for automatic resolvers, and grants, which
 * people gave before.
 */
export const VOTE_CHANNELS = ['inbox', 'api', 'webhook', 'slack', 'agent', 'automatic', 'grant'] as const;
export type VoteChannel = (typeof VOTE_CHANNELS)[number];

/** Who votes, as a verified sign-in, token or directory says. */
export interface Approver {
  readonly issuer: string;
  readonly subject: string;
  /** Other names of this person, of their token and of the directory. They keep from deciding, and give no right (`isOnePerson`). */
  readonly aliases?: readonly string[];
  /** How they are displayed, where that is known. For records: nothing is compared by it. */
  readonly name?: string;
  readonly roles: readonly string[];
}

/** The verdict of one approver in one stage, with the roles they had then. */
export interface Vote {
  readonly approver: Approver;
  /** Who cast it in the approver's place. The vote still is the approver's. */
  readonly castBy?: string;
  /** Subjects that acted for the voter by the `act` chain of their token. @see RFC 8693, section 4.1 */
  readonly actors?: readonly string[];
  /** All names of those who have a voice in it, as they are compared (`nameKey`). */
  readonly names?: readonly string[];
  /** Whether the approver is the requester, who confirmed what their own agent asked for. */
  readonly asRequester?: true;
  /** Counted from 1. */
  readonly stage: number;
  readonly verdict: Verdict;
  readonly reason?: string;
  /** The approver's words for the agent, beside the reason for the record. */
  readonly agentMessage?: string;
  readonly via: VoteChannel;
  /** A passkey confirmed it. Lists and pages do not read its signature. */
  readonly passkey?: true;
  /** The grant that cast it, by its id. The vote still is that of the approver who gave the grant. */
  readonly grant?: string;
  readonly at: string;
}

/** An approver handed a request to another person, who may decide it in their place. Instants are RFC 3339. */
export interface HandOver {
  /** Subjects. */
  readonly from: string;
  readonly to: string;
  /** All names of the first person, as they are compared (`nameKey`). */
  readonly names?: readonly string[];
  readonly at: string;
  readonly revokedAt?: string;
}

/** The greatest grant that policy allows on a request. */
export interface GrantBounds {
  readonly seconds: number;
  readonly uses: number;
}

/** The requester. Issuer and agent come from the enforcement point; only the subject is bound to the denial. */
export interface Requester {
  readonly issuer?: string;
  readonly subject: string;
  readonly clientId?: string;
}

/** An access request, as approvers see and resolve it. */
export interface AccessRequest {
  readonly id: string;
  readonly clientId: string;
  /** The bundle in which it was submitted, if any, and its position there, from 1. */
  readonly bundle?: { readonly id: string; readonly position: number; readonly size: number };
  readonly status: AccessRequestStatus;
  readonly evaluationId: string;
  readonly subject: Subject;
  readonly action: Action;
  readonly resource: Resource;
  /** RFC 8785 text, arguments included: approvers see what was submitted. */
  readonly context: string;
  /** What the enforcement point says that the tool does, where the denial binds it. */
  readonly effect?: Effect;
  /** The values of the arguments, for lists. Undefined for a request that is no tool call. */
  readonly outline?: Outline;
  readonly tool: string;
  readonly template?: string;
  readonly policies: readonly string[];
  readonly reason?: string;
  /** The policy author's words for approvers. */
  readonly title?: string;
  readonly description?: string;
  readonly requester: Requester;
  /** Names that may not decide, as they are compared. @see partiesOf */
  readonly parties: readonly string[];
  /** Names to whom a party delegated at any time since the request was opened; they may not decide either. */
  readonly delegates: readonly string[];
  readonly generation: number;
  readonly callDigest: string;
  readonly bindingHash: string;
  readonly bindingContextMembers: readonly string[];
  /** Present if an approver may give a grant on it (`approvals.is_grantable`). */
  readonly grantable?: GrantBounds;
  /** Who has to agree, in this order, as it was in force when the request was opened. Never empty. */
  readonly stages: readonly Stage[];
  /** The stage that is open, or was when the request ended; counted from 1. */
  readonly stage: number;
  /** When the open stage ends, if it has a deadline of its own (RFC 3339). */
  readonly stageEndsAt?: string;
  /** In all its stages, the earliest first. Absent: none. */
  readonly extensions?: readonly Extension[];
  /** The earliest first. Absent: none. */
  readonly handOvers?: readonly HandOver[];
  /** To the requester, the earliest first. Absent: none. */
  readonly questions?: readonly RequesterQuestion[];
  /**
   * People who can decide it, have not voted in the open stage, and opened its page in a browser within the last ten minutes, the earliest
   * first. Absent: none.
   */
  readonly pageOpenings?: readonly { readonly by: string; readonly at: string }[];
  /** When those who decide the open stage were last reminded. */
  readonly remindedAt?: string;
  /** Whether a person counts in one stage of the request only. */
  readonly separateStages: boolean;
  readonly votes: readonly Vote[];
  /** The answers of automatic resolvers, also those that are no votes. */
  readonly answers: readonly ResolverAnswer[];
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly endedAt?: string;
  readonly cancelled?: { readonly subject?: string; readonly client?: string; readonly reason?: string };
  /** Why it was denied without a vote: the open stage had too few people. */
  readonly whyDenied?: string;
  /** Its task is shown to no client any more. */
  readonly pastRetention?: true;
  readonly approval?: {
    readonly id: string;
    readonly approvedAt: string;
    readonly approvedUntil: string;
    /** The signed proof, once a client has asked for it. */
    readonly state?: string;
    /** When a client first got that proof. */
    readonly fetchedAt?: string;
    /** Who took it back, when that was done. The request stays approved: ends never change. */
    readonly revoked?: { readonly at: string; readonly by: string; readonly reason?: string };
  };
}
