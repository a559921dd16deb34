import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { NewAccessRequest } from '../stores/new-rows.ts';
import { verifyDenial, type DenialTrust, type VerifiedDenial } from './denial-binding.ts';
import { Problem } from './problem.ts';
import type { ShapedSubmission } from './submission.ts';
import type { JustOpened } from './task.ts';
import { randomText } from '../../shared/random-text.ts';

export interface SubmitOptions {
  readonly store: AccessRequestStore;
  readonly trust: DenialTrust;
  readonly requestTtlMs: number;
  /** Approvals that a request needs. */
  readonly quorum: number;
}

export interface AuthenticSubmission extends ShapedSubmission {
  /** The enforcement point, as its credential says. */
  readonly clientId: string;
  readonly idempotencyKey: string;
}

/**
 * Opens an access request, or finds the one that the same key and body opened before. A repeated submission never fails
 * for the age or the use of its denial (PRJ-09). Throws a `Problem`.
 */
export function createSubmit({ store, trust, requestTtlMs, quorum }: SubmitOptions) {
  return async (submitted: AuthenticSubmission): Promise<AccessRequest | JustOpened> => {
    const bodyDigest = digestOf(submitted.body);
    const denial = await verified(submitted, trust).catch((problem: unknown) => problem as Error);
    if (denial instanceof Error) return repeated(store, { ...submitted, bodyDigest }, denial);
    const request = { ...newRequest(submitted, denial), bodyDigest, quorum, ttlMs: requestTtlMs };
    const created = await store.create(request);
    switch (created.outcome) {
      case 'created':
        return { id: request.id, status: 'pending', expiresAt: created.expires_at.toISOString(), votes: [], quorum };
      case 'repeated':
        return existing(store, created.id);
      case 'conflict':
        throw new Problem('duplicate_request');
      case 'replayed':
        throw new Problem('invalid_denial_binding', 'the denial was used before');
    }
  };
}

async function verified({ submission, clientId }: AuthenticSubmission, trust: DenialTrust): Promise<VerifiedDenial> {
  const denial = await verifyDenial(submission, trust);
  if (denial.requester === undefined || denial.requester === clientId) return denial;
  throw new Problem(403, 'the denial was given to another client');
}

/** What the same key opened before; `otherwise` is thrown when it opened nothing. */
async function repeated(
  store: AccessRequestStore,
  { clientId, idempotencyKey, bodyDigest }: AuthenticSubmission & { bodyDigest: string },
  otherwise: Error,
): Promise<AccessRequest> {
  const known = await store.findByKey(clientId, idempotencyKey);
  if (known === undefined) throw otherwise;
  if (known.bodyDigest !== bodyDigest) throw new Problem('duplicate_request');
  return existing(store, known.id);
}

async function existing(store: AccessRequestStore, id: string): Promise<AccessRequest> {
  const request = await store.find(id);
  if (request === undefined) throw new Error(`access request ${id} was opened and is gone`);
  return request;
}

/** Equal for equal bodies, whatever their white space and member order. Throws a `Problem` for one with no canonical form. */
function digestOf(body: JsonObject): string {
  try {
    return sha256(canonicalJson(body));
  } catch (error) {
    if (error instanceof RangeError) throw new Problem(400, 'the body is nested too deeply or has an invalid string');
    throw error;
  }
}

function newRequest(
  { submission, clientId, idempotencyKey }: AuthenticSubmission,
  denial: VerifiedDenial,
): Omit<NewAccessRequest, 'bodyDigest' | 'quorum' | 'ttlMs'> {
  const { subject, action, resource, context, client, callback } = submission;
  return {
    ...denial,
    // 128 random bits: the handle cannot be guessed.
    id: `arq_${randomText(16)}`,
    clientId,
    idempotencyKey,
    subject: canonicalJson(subject as Json),
    action: canonicalJson(action as Json),
    resource: canonicalJson(resource as Json),
    context: canonicalJson(context as Json),
    tool: resource.id,
    requester: { issuer: client?.actor?.issuer, subject: subject.id, clientId: client?.actor?.id },
    generation: client?.source?.generation ?? 1,
    callDigest: context.call_digest,
    requestedUntil: submission.requested_access?.requested_until,
    callback: callback && { endpoint: callback.endpoint, state: callback.state, events: callback.events },
  };
}
