import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { partiesOf, type PartiesSource } from '../../../workflows/domain/access-request/parties.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { Terms, TermsOf } from '../templates.ts';
import type { NewAccessRequest } from '../stores/new-rows.ts';
import { verifiedAgent } from './actors.ts';
import type { AccessRequestClient } from './clients.ts';
import { verifyDenial, type DenialTrust, type VerifiedDenial } from './denial-binding.ts';
import { Problem } from './problem.ts';
import { toolOf, type ShapedSubmission } from './submission.ts';
import type { JustOpened } from './task.ts';
import { randomText } from '../../shared/random-text.ts';

export interface SubmitOptions {
  readonly store: AccessRequestStore;
  readonly trust: DenialTrust;
  readonly termsOf: TermsOf;
  /** How long a request can be read after its end. */
  readonly keepMs: number;
}

export interface AuthenticSubmission extends ShapedSubmission {
  readonly client: AccessRequestClient;
  readonly idempotencyKey: string;
}

/**
 * Opens an access request, or finds the one that the same key and body opened before. A repeated submission never fails
 * for the age or the use of its denial (PRJ-09). Throws a `Problem`.
 */
export function createSubmit({ store, trust, termsOf, keepMs }: SubmitOptions) {
  return async (submitted: AuthenticSubmission): Promise<AccessRequest | JustOpened> => {
    const bodyDigest = digestOf(submitted.body);
    const verified = await verify(submitted, { store, trust }).catch((problem: unknown) => problem as Error);
    if (verified instanceof Error) return repeated(store, { ...submitted, bodyDigest }, verified);
    const terms = termsOf(verified.denial.template, submitted.submission.resource.id);
    const request = { ...newRequest(submitted, verified), bodyDigest, keepMs, ...terms };
    const created = await store.create(request);
    switch (created.outcome) {
      case 'created':
        return {
          id: request.id,
          status: 'pending',
          expiresAt: created.expires_at.toISOString(),
          stages: terms.stages,
          stage: 1,
        };
      case 'repeated':
        return existing(store, created.id);
      case 'conflict':
        throw new Problem('duplicate_request');
      case 'replayed':
        throw usedBefore();
    }
  };
}

interface Verified {
  readonly denial: VerifiedDenial;
  /** The agent that it comes from, where that is known for certain. */
  readonly agent: string | undefined;
}

/** The denial, then its first use, then who submits it (PRJ-09). The first use is fenced by the row that is created. */
async function verify(submitted: AuthenticSubmission, { store, trust }: Pick<SubmitOptions, 'store' | 'trust'>) {
  const denial = await verifyDenial(submitted.submission, trust);
  try {
    return { denial, agent: authorized(submitted, denial) };
  } catch (refused) {
    throw (await store.isUsed(denial)) ? usedBefore() : refused;
  }
}

/** Throws a `Problem` (403) for a client that may not submit this. */
function authorized({ submission, client }: AuthenticSubmission, denial: VerifiedDenial): string | undefined {
  if (denial.requester !== undefined && denial.requester !== client.actsFor) {
    throw new Problem(403, 'the denial was given to another client');
  }
  if (!client.covers(submission as unknown as EvaluationRequest)) {
    throw new Problem(403, 'this client may not ask for this subject, action or resource');
  }
  return verifiedAgent(submission, { members: denial.bindingContextMembers, issuers: client.issuers });
}

const usedBefore = () => new Problem('invalid_denial_binding', 'the denial was used before');

/** What the same key opened before; `otherwise` is thrown when it opened nothing. */
async function repeated(
  store: AccessRequestStore,
  { client, idempotencyKey, bodyDigest }: AuthenticSubmission & { bodyDigest: string },
  otherwise: Error,
): Promise<AccessRequest> {
  const known = await store.findByKey(client.actsFor, idempotencyKey);
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
  { submission, client: submitter, idempotencyKey }: AuthenticSubmission,
  { denial, agent }: Verified,
): Omit<NewAccessRequest, 'bodyDigest' | 'keepMs' | keyof Terms> {
  const { subject, action, resource, context, client, callback, requested_access: wanted } = submission;
  const { binding_token: _token, ...echo } = submission.denial;
  return {
    ...denial,
    // 128 random bits: the handle cannot be guessed.
    id: `arq_${randomText(16)}`,
    clientId: submitter.actsFor,
    submittedBy: submitter.name,
    idempotencyKey,
    subject: canonicalJson(subject as Json),
    action: canonicalJson(action as Json),
    resource: canonicalJson(resource as Json),
    context: canonicalJson(context as Json),
    claimed: canonicalJson({
      ...(client && { client }),
      ...(wanted && { requested_access: wanted }),
      denial: echo,
    } as Json),
    tool: toolOf(submission),
    requester: { issuer: client?.actor?.issuer, subject: subject.id, clientId: agent },
    parties: partiesOf(submission as unknown as PartiesSource),
    generation: client?.source?.generation ?? 1,
    requestedUntil: wanted?.requested_until,
    callback: callback && { endpoint: callback.endpoint, state: callback.state, events: callback.events },
  };
}
