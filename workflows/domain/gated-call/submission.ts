import { type Decision, type EvaluationRequest, PEP_CLIENT_ID } from '../authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject } from '../canonical-json.ts';
import type { Actor, Principal } from '../principal.ts';
import type { Additions } from '../submission-input/answers.ts';
import { type Preview, previewMember } from '../tools/preview.ts';

/** The handle of an accepted submission: where its access request is read and cancelled. @see ARAP, task handle */
export interface AccessRequestHandle {
  readonly accessRequestId: string;
  readonly statusEndpoint: string;
  readonly cancelEndpoint?: string;
  /** The page on which people follow and decide the access request, after they signed in there. */
  readonly approvalPage?: string;
  /** When the access request service gives the request up. */
  readonly expiresAt?: string;
  /** The request had ended already when its handle was given out: it is read at once, and not waited for (ARAP-TSK-11). */
  readonly isSettled?: true;
}

/** One attempt to ask the access request service. Written before the service is contacted; key and body never change. */
export interface NewSubmission {
  readonly idempotencyKey: string;
  readonly endpoint: string;
  /** The exact bytes of the request body. */
  readonly body: string;
}

/** The submission for the process that won the right to send it; unchanged however often it is sent. */
export interface TakenSubmission extends NewSubmission {
  readonly generation: number;
}

/** Comes back with each callback, so that a stranger's callback is recognized. It means nothing to the service. */
const CALLBACK_STATE_BYTES = 16;
/** A submission has one key for its whole life: however often it is sent, it opens one access request. */
const IDEMPOTENCY_KEY_BYTES = 32;

export interface SubmissionSettings {
  readonly callbackUrl: string;
}

/**
 * The submission to the access request service for a denied call, under a key and with a callback state of its own.
 *
 * @param randomText Answers so many random bytes as text that needs no escaping.
 */
export function newSubmission(
  facts: Omit<SubmissionFacts, 'callback'>,
  { callbackUrl }: SubmissionSettings,
  randomText: (bytes: number) => string,
): NewSubmission {
  const callback = { endpoint: callbackUrl, state: randomText(CALLBACK_STATE_BYTES) };
  return {
    idempotencyKey: randomText(IDEMPOTENCY_KEY_BYTES),
    endpoint: facts.denial.offer.endpoint,
    body: submissionBody({ ...facts, callback }),
  };
}

const CLIENT_NAME = 'Countersign gateway';

interface SubmissionFacts {
  readonly evaluation: EvaluationRequest;
  readonly denial: Extract<Decision, { kind: 'requestable' }>;
  readonly caller: Principal;
  readonly callback: { readonly endpoint: string; readonly state: string };
  /** Counts the access requests for one gated call, from 1. */
  readonly generation: number;
  /** The requester's input beside the call. */
  readonly additions?: Additions | undefined;
  readonly preview?: Preview | undefined;
}

/**
 * The exact body of a submission for a denied call, in canonical form: the evaluation request verbatim, and every member of the
 * denial as it came, since the service compares them with the PDP's signature. Additions alter no member (ARAP-SUB-05).
 * @see ARAP, submission (PRJ-08)
 */
export function submissionBody(facts: SubmissionFacts): string {
  const { evaluation, denial, caller, callback, generation, additions = {}, preview } = facts;
  const { offer, evaluationId, evaluatedAt, reason } = denial;
  const body = {
    subject: evaluation.subject,
    action: evaluation.action,
    resource: evaluation.resource,
    context: { ...additions.context, ...evaluation.context },
    ...(additions.requested_access !== undefined && { requested_access: additions.requested_access }),
    client: {
      id: PEP_CLIENT_ID,
      name: CLIENT_NAME,
      ...actorOf(caller),
      // In the client's own part, in which no input of the caller can be, and which no denial binds.
      source: { generation, requester: requesterOf(caller), ...(preview && { preview: previewMember(preview) }) },
    },
    callback,
    denial: {
      expires_at: offer.expiresAt,
      ...(offer.template !== undefined && { template: offer.template }),
      ...(offer.bindingToken !== undefined && { binding_token: offer.bindingToken }),
      ...(evaluationId !== undefined && { evaluation_id: evaluationId }),
      ...(evaluatedAt !== undefined && { evaluated_at: evaluatedAt }),
      ...(reason !== undefined && { reason }),
    },
  };
  return canonicalJson(body as unknown as Json);
}

/** The actor, and behind it the whole `act` chain of the caller's token: the service has to know everyone who may not decide. @see ARAP-DLG-01, ARAP-DLG-02 */
function actorOf({ issuer, clientId, actors = [] }: Principal): { readonly actor?: JsonObject } {
  const [first, ...rest] = actors;
  if (clientId !== undefined) return { actor: { id: clientId, issuer, type: 'ai_agent', ...chain(actors, issuer) } };
  if (first === undefined) return {};
  return { actor: { id: first.subject, issuer: first.issuer ?? issuer, ...clientOf(first), ...chain(rest, issuer) } };
}

function chain([first, ...rest]: readonly Actor[], issuer: string): JsonObject {
  if (first === undefined) return {};
  return { act: { sub: first.subject, iss: first.issuer ?? issuer, ...clientOf(first), ...chain(rest, issuer) } };
}

const clientOf = ({ clientId }: Actor): JsonObject => (clientId === undefined ? {} : { client_id: clientId });

/** The caller by the names of the token, also where the PDP was asked about another subject. */
const requesterOf = ({ issuer, subject, aliases }: Principal): JsonObject => ({
  iss: issuer,
  sub: subject,
  ...(aliases !== undefined && { aliases }),
});
