import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createCoveringGrants } from '../../apps/approvals/grants/covering-grants.ts';
import { type Choice, scopeOf } from '../../apps/approvals/grants/scope.ts';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createGrantStore } from '../../apps/approvals/stores/grant.store.ts';
import type { NewAccessRequest } from '../../apps/approvals/stores/new-rows.ts';
import { readDirectory } from '../../apps/shared/directory/directory.ts';
import { sha256 } from '../../apps/shared/crypto.ts';
import type { AccessRequest } from '../../workflows/domain/access-request/access-request.ts';
import { canonicalJson } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { AccessRequestService, ResolutionStatus } from '../../workflows/domain/ports.ts';
import { anApprover, newAccessRequest, newVote } from '../support/access-requests.ts';
import { directoryText } from '../support/directory.ts';
import { anApproval } from '../support/gated-calls.ts';
import { AWAY, type Authority, handleOf } from './authority.ts';
import type { Chance } from './chance.ts';
import { passGrant } from './passing-time.ts';
import type { Fiber } from './scheduler.ts';

/** What policy allows in turn. The times are so far apart that a slow machine changes nothing. */
const POLICIES = [
  { seconds: 1_800, uses: 10 },
  { seconds: 1_800, uses: 1 },
  { seconds: 900, uses: 10 },
  undefined,
] as const;
const TWENTY_MINUTES = 1_200;
const HOUR_MS = 3_600_000;

/** What a grant has to be, by a ledger that shares no code with the product. */
interface Gift {
  readonly id: string;
  readonly like: Call;
  readonly choice: Choice;
  readonly seconds: number;
  readonly uses: number;
  used: number;
  age: number;
  isRevoked: boolean;
}

interface Call {
  readonly agent: string;
  readonly digest: string;
  readonly path: string;
}

interface Known {
  readonly request: NewAccessRequest;
  readonly call: Call;
}

/**
 * The product's own access request service over its database, whose approvers give grants and revoke them, while time passes and policy
 * changes. A ledger says of each approval by a grant whether it may be.
 */
export function createGrantingAuthority(pool: Pool, chance: Chance, findings: string[]): Authority {
  const stores = { requests: createAccessRequestStore(pool), grants: createGrantStore(pool) };
  const directory = readDirectory(directoryText(), 'userName');
  const covering = createCoveringGrants({
    store: stores.grants,
    people: () => directory,
    still: (approver) => approver,
  });
  const known = new Map<string, Known>();
  const approved = new Set<string>();
  const gifts: Gift[] = [];
  const prefix = `grn_${randomUUID()}`;
  /** Grants that a submission in progress has found. Most faults need what happens to them before it is opened. */
  let found: readonly string[] = [];
  const anyGift = () => gifts.find(({ id }) => found.includes(id)) ?? chance.oneOf(gifts);
  let policy: (typeof POLICIES)[number] = POLICIES[0];

  async function open(request: NewAccessRequest, call: Call, grants: readonly string[]) {
    const created = await stores.requests.create(request, grants);
    if (!('id' in created)) throw new Error(`the submission is ${created.outcome}`);
    if (created.outcome === 'conflict') findings.push('one key was submitted with two bodies');
    const found = await stores.requests.find(created.id);
    if (created.outcome === 'created') {
      known.set(created.id, { request, call });
      judge(found, { request, call, grants });
    }
    return { ...handleOf(created.id), ...(found?.status !== 'pending' && { isSettled: true as const }) };
  }

  /** Compares the first status of a request with the ledger. */
  function judge(found: AccessRequest | undefined, of: Known & { readonly grants: readonly string[] }): void {
    const due = gifts.filter((gift) => of.grants.includes(gift.id) && reasonAgainst(gift, of) === undefined);
    const [vote] = found?.votes ?? [];
    if (vote === undefined) {
      if (due.length > 0) findings.push('a call under a grant was left to people');
      return;
    }
    approved.add(found?.id ?? '');
    const gift = gifts.find(({ id }) => id === vote.grant);
    const reason = gift === undefined ? 'without a grant' : reasonAgainst(gift, of);
    if (reason !== undefined) findings.push(`a request was approved ${reason}`);
    if (gift !== undefined) gift.used += 1;
  }

  const openOnes = async () => {
    const ids = [...known.keys()];
    const { rows } = await pool.query<{ id: string }>(
      `SELECT id FROM approvals.access_request WHERE id = ANY ($1) AND status = 'pending'`,
      [ids],
    );
    return ids.filter((id) => rows.some((row) => row.id === id)).flatMap((id) => known.get(id) ?? []);
  };
  const bobs = (request: NewAccessRequest) =>
    newVote(request, { approver: anApprover('bob'), via: 'inbox', generation: request.generation });

  async function give(): Promise<void> {
    const open = await openOnes();
    if (open.length === 0) return;
    const { request, call } = chance.oneOf(open);
    const choice = chance.oneOf<Choice>([
      { kind: 'exact' },
      { kind: 'any' },
      { kind: 'begins', text: folderOf(call.path) },
    ]);
    const scope = scopeOf({ path: call.path }, [choice]);
    if (scope === undefined) throw new Error('a choice does not cover its call');
    const gift = {
      id: `${prefix}_${gifts.length}`,
      sessionId: 'none',
      seconds: chance.oneOf([900, 1_800]),
      uses: 1 + chance.below(2),
    };
    const outcome = await stores.grants.give({ ...gift, ...scope }, bobs(request));
    const isAllowed = gift.seconds <= (request.grantSeconds ?? 0) && gift.uses <= (request.grantUses ?? 0);
    if ((outcome === 'counted') !== isAllowed)
      findings.push(`a grant was ${outcome} though it was ${isAllowed ? '' : 'not '}allowed`);
    if (outcome !== 'counted') return;
    approved.add(request.id);
    gifts.push({ ...gift, like: call, choice, used: 0, age: 0, isRevoked: false });
  }

  async function revoke(): Promise<void> {
    if (gifts.length === 0) return;
    const gift = anyGift();
    await stores.grants.revoke(gift.id, { subject: 'bob', oversees: false });
    gift.isRevoked = true;
  }

  async function wait(): Promise<void> {
    if (gifts.length === 0) return;
    const gift = anyGift();
    await passGrant(pool, gift.id, TWENTY_MINUTES);
    gift.age += TWENTY_MINUTES;
  }

  return {
    count: () => ({
      opened: known.size,
      granted: approved.size,
      byGrant: gifts.reduce((sum, { used }) => sum + used, 0),
    }),
    // They are in the database, where the invariants find them.
    evidence: () => [],
    events: () => [
      [4, give],
      [found.length > 0 ? 1 : 0.3, revoke],
      [found.length > 0 ? 1 : 0.3, wait],
      [0.7, () => (policy = POLICIES[chance.below(POLICIES.length)])],
    ],
    async decide(verdict) {
      const open = await openOnes();
      if (open.length === 0) return;
      const { request } = chance.oneOf(open);
      const approves = verdict === 'granted';
      await stores.requests.castVote({ ...bobs(request), verdict: approves ? 'approve' : 'deny' });
      if (approves) approved.add(request.id);
    },
    accessRequests: (fiber) =>
      serviceOf(fiber, stores.requests, async (submission) => {
        const { request, call } = requestOf(submission, policy);
        // Anything may happen between the look and the opening, which decides.
        const grants = await fiber.step('look for grants', () => covering(request), AWAY);
        found = grants;
        return fiber.step('submit', () => open(request, call, grants), AWAY).finally(() => (found = []));
      }),
  };
}

/** Why a grant must not approve a request now; undefined if it may. */
function reasonAgainst({ like, choice, ...gift }: Gift, { request, call }: Known): string | undefined {
  const isLike =
    choice.kind === 'any' || (choice.kind === 'begins' ? call.path.startsWith(choice.text) : call.path === like.path);
  if (request.grantSeconds === undefined || request.grantUses === undefined) return 'without leave of policy';
  if (gift.isRevoked) return 'by a revoked grant';
  if (gift.age >= Math.min(gift.seconds, request.grantSeconds)) return 'by a grant that is over';
  if (gift.used >= Math.min(gift.uses, request.grantUses)) return 'by a grant that is used up';
  if (call.agent !== like.agent) return 'for another agent or caller than the grant is for';
  if (call.digest !== like.digest) return 'for a tool that changed since the grant was given';
  return isLike ? undefined : 'for other arguments than the grant is for';
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1);

/** The request of a submission, as the service makes it of a verified denial. */
function requestOf(
  { idempotencyKey, body }: { readonly idempotencyKey: string; readonly body: string },
  policy: (typeof POLICIES)[number],
): Known {
  const { subject, context, client } = JSON.parse(body) as {
    subject: { id: string };
    context: { agent: string; arguments: { path: string }; call: { tool_digest: string }; call_digest: string };
    client?: { source?: { generation?: number } };
  };
  const call = {
    agent: `${subject.id} ${context.agent}`,
    digest: context.call.tool_digest,
    path: context.arguments.path,
  };
  const request = newAccessRequest({
    ...{ idempotencyKey, bodyDigest: sha256(body), callDigest: context.call_digest },
    context: canonicalJson(context),
    requester: { issuer: undefined, subject: subject.id, clientId: context.agent },
    parties: [subject.id, context.agent],
    ...{ toolDigest: call.digest, grantSeconds: policy?.seconds, grantUses: policy?.uses },
    ...{ generation: client?.source?.generation ?? 1, requestTtlMs: HOUR_MS, approvalTtlMs: HOUR_MS },
  });
  return { request, call };
}

type Requests = ReturnType<typeof createAccessRequestStore>;

function serviceOf(fiber: Fiber, requests: Requests, submit: AccessRequestService['submit']): AccessRequestService {
  return {
    submit,
    read: ({ accessRequestId }) =>
      fiber.step('read the status', async () => statusOf(await requests.find(accessRequestId)), AWAY),
    stated: async (_handle, { kind }) => ({
      ...{ kind: 'stated', status: kind === 'granted' ? 'approved' : kind, votes: [] },
    }),
    cancel: ({ accessRequestId }) =>
      fiber.step(
        'cancel the request',
        async () => {
          const note = { by: { client: 'mcp-gateway' } };
          await requests.cancel(accessRequestId, { note, clientId: 'mcp-gateway' });
        },
        AWAY,
      ),
  };
}

function statusOf(request: AccessRequest | undefined): ResolutionStatus {
  if (request === undefined) throw new CountersignError('ERR_ACCESS_REQUEST_NOT_FOUND', 'no such request');
  if (request.status === 'pending') return { kind: 'pending' };
  if (request.approval === undefined) return { kind: request.status === 'approved' ? 'failed' : request.status };
  const { id, approvedAt, approvedUntil } = request.approval;
  return { kind: 'granted', approval: anApproval({ id, approvedAt, approvedUntil }) };
}
