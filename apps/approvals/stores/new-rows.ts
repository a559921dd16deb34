import type { Approver, Verdict, VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import type { PasskeyAssertion } from '../../../workflows/domain/access-request/passkey.ts';
import type { Effect } from '../../../workflows/domain/tools/tool-facts.ts';
import { keysOf, voiceNames } from '../../../workflows/domain/access-request/same-person.ts';
import type { ResolverAnswer } from '../../../workflows/domain/access-request/automatic.ts';
import type { BrowserSession } from '../../../workflows/domain/access-request/eligibility.ts';
import type { DirectoryFacts } from '../../../workflows/domain/access-request/quorum.ts';
import type { VerifiedDenial } from '../access-requests/denial-binding.ts';
import type { Terms } from '../templates.ts';
import { snakeCased } from './query.ts';

/** A verified submission: everything that is fixed when a request is opened. JSON is RFC 8785 text. */
export interface NewAccessRequest extends Terms, Omit<VerifiedDenial, 'requester' | 'listedTemplates' | 'grantable'> {
  readonly id: string;
  readonly clientId: string;
  /** Name of the submitting credential. */
  readonly submittedBy: string;
  /** In a bundle, only the first item has it. */
  readonly idempotencyKey: string | undefined;
  readonly bodyDigest: string;
  /** W3C trace id of the submission, if any. */
  readonly traceId: string | undefined;
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly context: string;
  /** The rest of the submission. */
  readonly claimed: string;
  /** What the bound context says that the tool does, if it says so. */
  readonly effect: Effect | undefined;
  /** An `Outline` as text. Undefined for a request that is no tool call. */
  readonly outline: string | undefined;
  readonly tool: string;
  readonly requester: Readonly<Record<'issuer' | 'clientId', string | undefined>> & { readonly subject: string };
  readonly generation: number;
  /** Digest of the description of the tool, if the denial binds it. */
  readonly toolDigest: string | undefined;
  /** The greatest grant that policy allows. Undefined: none. */
  readonly grantSeconds: number | undefined;
  readonly grantUses: number | undefined;
  /** Subjects that may not decide. */
  readonly parties: readonly string[];
  readonly keepMs: number;
  readonly requestedUntil: string | undefined;
  readonly callback:
    | { readonly endpoint: string; readonly state: string | undefined; readonly events: readonly string[] | undefined }
    | undefined;
}

/** A person who votes for an approver, and the delegation that lets them. */
export interface StandIn {
  readonly subject: string;
  readonly aliases?: readonly string[];
  readonly name?: string;
  readonly delegationId: string;
}

/** A verdict, the approver who gave it, and the call and stage they saw. */
export interface Ballot {
  readonly requestId: string;
  readonly approver: Approver;
  readonly standIn?: StandIn | undefined;
  /** Names behind the voter beside these (`behind`). None may have a part in the request. */
  readonly chain?: readonly string[] | undefined;
  /** Subjects that act for the voter, by their token. */
  readonly actors?: readonly string[] | undefined;
  readonly verdict: Verdict;
  readonly reason: string | undefined;
  /** For the agent (`isAgentMessage`). */
  readonly agentMessage?: string | undefined;
  readonly callDigest: string;
  /** Absent: the generation of the request. */
  readonly generation: number | undefined;
  /** The stage that the voter looked at, from 1. Absent: the open one. */
  readonly stage?: number | undefined;
  readonly via: VoteChannel;
  /** Digest of the preview that the voter had before them. */
  readonly preview?: string | undefined;
  /** The session of the inbox by which they decide in the browser. */
  readonly session?: BrowserSession | undefined;
}

export interface NewVote extends Ballot {
  /** Verified: the key signed this challenge, with this counter. */
  readonly confirmed?: { readonly assertion: PasskeyAssertion; readonly counter: number };
  /** The stage for which the approver was checked as eligible. */
  readonly judgedStage: number;
  readonly facts?: DirectoryFacts;
  /** Used only when this vote approves the request. */
  readonly approvalId: string;
}

/** A resolver's answer for the stage that it was asked about. */
export interface NewAnswer extends Omit<NewVote, 'verdict'> {
  readonly resolver: string;
  readonly stage: number;
  readonly verdict: ResolverAnswer['verdict'];
}

/** Who cancelled a request, and why: a client, by its credential, or a person. */
export interface EndNote {
  readonly by:
    | { readonly client: string }
    // With the display name of that time.
    | { readonly issuer: string; readonly subject: string; readonly name?: string };
  /** The channel that a person used. */
  readonly via?: NewRevocation['via'];
  readonly reason?: string | undefined;
  readonly comment?: string | undefined;
}

export interface NewRevocation {
  readonly requestId: string;
  readonly by: { readonly issuer: string; readonly subject: string };
  readonly reason: string | undefined;
  readonly via: Extract<VoteChannel, 'inbox' | 'api'>;
}

/** More time for a stage, as a person asks for it. */
export interface NewExtension {
  readonly requestId: string;
  /** With the names behind them (`behind`). */
  readonly by: Approver & { readonly chain: readonly string[] };
  /** The stage that they looked at, and the one for which they were checked as eligible. */
  readonly stage: number;
  readonly judgedStage: number;
  /** One more than the extensions of the stage that they saw. */
  readonly number: number;
  readonly seconds: number;
  readonly reason: string | undefined;
  readonly via: NewRevocation['via'];
}

/** Columns that requests and bundles share. */
export const submissionColumns = ({
  clientId,
  submittedBy,
  idempotencyKey,
  bodyDigest,
  callback,
}: NewAccessRequest) => ({
  ...snakeCased({ clientId, submittedBy, idempotencyKey, bodyDigest }),
  callback_endpoint: callback?.endpoint,
  callback_state: callback?.state,
  callback_events: callback?.events,
});

export function newRow(request: NewAccessRequest) {
  const { callback: _callback, requester, tokenId, requestTtlMs, approvalTtlMs, isNotified, ...same } = request;
  return {
    ...snakeCased(same),
    ...submissionColumns(request),
    requester_issuer: requester.issuer,
    requester_subject: requester.subject,
    requester_client: requester.clientId,
    token_jti: tokenId,
    ttl_ms: requestTtlMs,
    approval_ms: approvalTtlMs,
    notified: isNotified,
  };
}

/** All names of those who have a voice in a vote, as the database compares them. */
export const namesColumn = ({ approver, standIn, actors }: Pick<Ballot, 'approver' | 'standIn' | 'actors'>) =>
  keysOf(
    voiceNames({
      subject: approver.subject,
      aliases: [...(approver.aliases ?? []), ...(standIn?.aliases ?? [])],
      castBy: standIn?.subject,
      actors,
    }),
  );

export function voteRow(vote: Omit<NewVote, 'verdict'> & { readonly verdict: ResolverAnswer['verdict'] }) {
  const { requestId, generation, callDigest, chain, actors, stage, judgedStage, verdict, reason, agentMessage, via } =
    vote;
  const { approver, standIn, facts, approvalId } = vote;
  return {
    ...snakeCased({
      requestId,
      generation,
      callDigest,
      chain: keysOf(chain ?? []),
      actors,
      stage,
      judgedStage,
      verdict,
      reason,
      agentMessage,
      via,
    }),
    names: namesColumn(vote),
    approver_issuer: approver.issuer,
    approver_subject: approver.subject,
    approver_name: approver.name,
    approver_roles: approver.roles,
    cast_by: standIn?.subject,
    cast_by_name: standIn?.name,
    delegation_id: standIn?.delegationId,
    lapsed: facts?.lapsed,
    electorate: facts?.electorate && keysOf([...facts.electorate]),
    approval_id: approvalId,
  };
}

/** Of a vote that comes from the page. The other ways to vote have none. */
export const passkeyColumns = ({ confirmed }: Pick<NewVote, 'confirmed'>) => ({
  passkey_assertion: confirmed && JSON.stringify(confirmed.assertion),
  passkey_counter: confirmed?.counter,
});
