import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { outlineOf } from '../../../workflows/domain/access-request/outline.ts';
import { type Bundle, BUNDLE_PREFIX } from '../../../workflows/domain/access-request/statement.ts';
import { partiesOf, type PartiesSource, confirmerOf } from '../../../workflows/domain/access-request/parties.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { EFFECTS } from '../../../workflows/domain/tools/tool-facts.ts';
import { logScope } from '../../shared/log-scope.ts';
import { randomText, sha256 } from '../../shared/crypto.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { NewAccessRequest } from '../stores/new-rows.ts';
import type { Catalogs } from '../catalogs/catalogs.ts';
import type { createRefuseOutOfReach } from '../out-of-reach.ts';
import type { CoveringGrants } from '../grants/covering-grants.ts';
import type { Terms, TermsOf } from '../templates.ts';
import { type ShapedSubmission, toolOf, verifiedAgent } from './submission.ts';
import type { AccessRequestClient } from './clients.ts';
import { type DeniedItem, verifyDenials } from './denial-binding.ts';
import type { DenialTrust } from './denial-token.ts';
import { ApiProblem } from './problem.ts';
import type { JustOpened } from './task.ts';

export interface SubmitOptions {
  readonly store: AccessRequestStore;
  readonly trust: DenialTrust;
  readonly termsOf: TermsOf;
  /** Undefined without catalogs. */
  readonly catalogs: Pick<Catalogs, 'check'> | undefined;
  /** Retention period after the end of a request. */
  readonly keepMs: number;
  readonly coveringGrants: CoveringGrants;
  /** Throws an `ApiProblem` for a request that no known people could approve. */
  readonly refuseOutOfReach: ReturnType<typeof createRefuseOutOfReach>;
}

export interface AuthenticSubmission extends ShapedSubmission {
  readonly client: AccessRequestClient;
  readonly idempotencyKey: string;
}

type Opened = AccessRequest | JustOpened | Bundle;

/**
 * Opens an access request or a bundle, or returns the one that the same key and body opened before. A repeated submission never
 * fails because its denial expired or was used (PRJ-09). Throws an `ApiProblem`, and then opens nothing, not even some items of a bundle.
 */
export function createSubmit(options: SubmitOptions) {
  return async (submitted: AuthenticSubmission): Promise<Opened> => {
    const bodyDigest = digestOf(submitted.body);
    const verified = await verify(submitted, options).catch((problem: unknown) => problem as Error);
    if (verified instanceof Error) return repeated(options.store, { ...submitted, bodyDigest }, verified);
    const requests = verified.map((one) => newRequest({ ...submitted, bodyDigest }, one, options));
    return open(options, requests, submitted);
  };
}

async function open(
  { store, coveringGrants }: Pick<SubmitOptions, 'store' | 'coveringGrants'>,
  requests: readonly NewAccessRequest[],
  { bundle }: ShapedSubmission,
): Promise<Opened> {
  const [first] = requests;
  if (first === undefined) throw new Error('there is nothing to open');
  if (bundle) return existingOf(store, await store.createBundle(newBundle(bundle), requests));
  const grants = await coveringGrants(first);
  const created = await store.create(first, grants);
  // A grant may have approved it already.
  return created.outcome === 'created' && grants.length === 0
    ? justOpened(first, created.expires_at)
    : existingOf(store, created);
}

const newBundle = (bundle: NonNullable<ShapedSubmission['bundle']>) => ({
  id: `${BUNDLE_PREFIX}${randomText(16)}`,
  ...bundle,
});

type Created = Awaited<ReturnType<AccessRequestStore['create' | 'createBundle']>>;

function existingOf(store: AccessRequestStore, created: Created): Promise<Opened> {
  switch (created.outcome) {
    case 'created':
    case 'repeated':
      return existing(store, created.id);
    case 'conflict':
      throw new ApiProblem('duplicate_request');
    case 'replayed':
      throw usedBefore();
  }
}

const justOpened = ({ id, stages }: NewAccessRequest, expiresAt: Date): JustOpened => ({
  id,
  status: 'pending',
  expiresAt: expiresAt.toISOString(),
  stages,
  stage: 1,
});

interface Verified extends DeniedItem {
  /** The proven agent that it comes from, if any. */
  readonly agent: string | undefined;
  readonly terms: Terms;
}

/**
 * Checks the denials, their first use, the submitting client and the selected items, in this order (PRJ-09). The database enforces
 * the first use when the rows are created.
 */
async function verify(
  submitted: AuthenticSubmission,
  { store, trust, termsOf, catalogs, refuseOutOfReach }: Omit<SubmitOptions, 'keepMs' | 'coveringGrants'>,
): Promise<Verified[]> {
  const denied = await verifyDenials(submitted, trust);
  try {
    return denied.map((one) => {
      const agent = authorized(one, submitted.client);
      const confirmer = confirmerOf(one.submission as unknown as PartiesSource, submitted.client.issuers);
      const terms = termsOf(one.denial, one.submission.resource.id, confirmer);
      // Its approvers would be others than those that the denial was made for.
      if (terms === undefined) throw new ApiProblem('expired_denial', UNLISTED);
      const asked = { ...(one.submission as unknown as EvaluationRequest), template: one.denial.template };
      catalogs?.check(one.submission, asked);
      const { template } = one.denial;
      const requester = { subject: one.submission.subject.id };
      const parties = partiesOf(one.submission as unknown as PartiesSource);
      refuseOutOfReach({ ...terms, template, requester, parties, delegates: [] });
      return { ...one, agent, terms };
    });
  } catch (refused) {
    for (const { denial } of denied) if (await store.isUsed(denial)) throw usedBefore();
    throw refused;
  }
}

/** Throws an `ApiProblem` (403) for a client that may not submit this. */
function authorized({ submission, denial }: DeniedItem, client: AccessRequestClient): string | undefined {
  if (denial.requester !== undefined && denial.requester !== client.actsFor) {
    throw new ApiProblem(403, 'the denial was given to another client');
  }
  if (!client.covers(submission as unknown as EvaluationRequest)) {
    throw new ApiProblem(403, 'this client may not ask for this subject, action or resource');
  }
  return verifiedAgent(submission, { members: denial.bindingContextMembers, issuers: client.issuers });
}

/** A denial is submitted right after its decision, so this happens when a rule or a template is removed in between. */
const UNLISTED =
  'the configuration does not list the approval template of the denial any more: evaluate again for a fresh denial';

const usedBefore = () => new ApiProblem('invalid_denial_binding', 'the denial was used before');

/** The task that the same key opened before. Throws `otherwise` if there is none. */
async function repeated(
  store: AccessRequestStore,
  { client, idempotencyKey, bodyDigest }: AuthenticSubmission & { bodyDigest: string },
  otherwise: Error,
): Promise<Opened> {
  const known = await store.findByKey(client.actsFor, idempotencyKey);
  if (known === undefined) throw otherwise;
  if (known.bodyDigest !== bodyDigest) throw new ApiProblem('duplicate_request');
  return existing(store, known.id);
}

async function existing(store: AccessRequestStore, id: string): Promise<Opened> {
  const task = await store.findTask(id);
  if (task === undefined) throw new Error(`access request ${id} was opened but no longer exists`);
  return task;
}

/** Equal for equal bodies: white space and member order do not count. Throws an `ApiProblem` for a body without a canonical form. */
function digestOf(body: JsonObject): string {
  try {
    return sha256(canonicalJson(body));
  } catch (error) {
    if (error instanceof RangeError)
      throw new ApiProblem(400, 'the body is nested too deeply or has an invalid string');
    throw error;
  }
}

function newRequest(
  { client: submitter, idempotencyKey, bodyDigest }: AuthenticSubmission & { bodyDigest: string },
  { submission, denial, agent, terms }: Verified,
  { keepMs }: Pick<SubmitOptions, 'keepMs'>,
): NewAccessRequest {
  const { subject, action, resource, context, client, callback, requested_access: wanted } = submission;
  const { binding_token: _token, ...echo } = submission.denial;
  const { listedTemplates: _listed, grantable, ...proved } = denial;
  return {
    ...proved,
    ...terms,
    // 128 random bits: the handle cannot be guessed.
    id: `arq_${randomText(16)}`,
    clientId: submitter.actsFor,
    submittedBy: submitter.name,
    traceId: logScope().trace,
    idempotencyKey,
    bodyDigest,
    keepMs,
    subject: canonicalJson(subject as Json),
    action: canonicalJson(action as Json),
    resource: canonicalJson(resource as Json),
    context: canonicalJson(context as Json),
    claimed: canonicalJson({
      ...(client && { client }),
      ...(wanted && { requested_access: wanted }),
      denial: echo,
    } as Json),
    ...forLists(context as JsonObject, denial.bindingContextMembers),
    tool: toolOf(submission),
    requester: { issuer: client?.actor?.issuer, subject: subject.id, clientId: agent },
    parties: partiesOf(submission as unknown as PartiesSource),
    generation: client?.source?.generation ?? 1,
    grantSeconds: grantable?.seconds,
    grantUses: grantable?.uses,
    requestedUntil: wanted?.requested_until,
    callback: callback && { endpoint: callback.endpoint, state: callback.state, events: callback.events },
  };
}

/** The effect counts only where the denial binds it: then it is the word of the enforcement point that the policy evaluated. */
function forLists(context: JsonObject, bound: readonly string[]): Pick<NewAccessRequest, 'effect' | 'outline'> {
  const stated = bound.includes('call') ? objectOf(context['call'])['effect'] : undefined;
  const outline = outlineOf(context['arguments'], sha256);
  return { effect: EFFECTS.find((one) => one === stated), outline: outline && JSON.stringify(outline) };
}
