import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createGrantStore } from '../../apps/approvals/stores/grant.store.ts';
import { givenGrant, grantableRequest } from '../support/grants.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../support/access-requests.ts';
import { gatedCallFixture, TEST_SEALS } from '../support/gated-calls.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Arrival, Evidence } from './invariant.ts';

/** Ids of calls that reached their states in the product's own ways, and the observations outside of the database. */
export interface HonestCalls {
  readonly preparing: string;
  readonly pending: string;
  readonly granted: string;
  readonly claimed: string;
  readonly executed: string;
  readonly failedTool: string;
  readonly notSent: string;
  readonly unknown: string;
  readonly denied: string;
  readonly cancelled: string;
  readonly failed: string;
  readonly evidence: Required<Evidence>;
}

const RESULT = { text: '{"content":[]}', digest: 'sha-256:result' };

/** Fills a database with one call of every kind, an approved access request of two approvers, and a ledger. */
export async function makeHonestCalls(pool: Pool): Promise<HonestCalls> {
  const began = new Date().toISOString();
  const fixture = gatedCallFixture(pool);
  const { lifecycle } = fixture;
  const arrivals: Arrival[] = [];

  async function permitted() {
    const { gatedCallId, claimId } = await fixture.claimed();
    const [invocationId, upstreamKey] = [randomUUID(), randomUUID()];
    await lifecycle.beginInvocation({ gatedCallId, claimId, invocationId, upstreamKey });
    return { gatedCallId, invocationId, upstreamKey };
  }
  async function sent() {
    const call = await permitted();
    const { binding } = await lifecycle.load(call.gatedCallId);
    arrivals.push({
      upstreamKey: call.upstreamKey,
      argumentsDigest: binding.callDigest,
      at: new Date().toISOString(),
    });
    return call;
  }
  async function ended(to: 'denied' | 'failed', reason: 'resolution_denied' | 'resolution_failed') {
    const { gatedCallId } = await fixture.pending();
    await lifecycle.end(gatedCallId, to, reason, 'resolution');
    return gatedCallId;
  }

  const executed = await sent();
  await lifecycle.settleResult({ ...executed, cause: 'result' }, { ...RESULT, isError: false });
  const failedTool = await sent();
  await lifecycle.settleResult({ ...failedTool, cause: 'result' }, { ...RESULT, isError: true });
  const notSent = await permitted();
  await lifecycle.settleNotSent(notSent.gatedCallId, notSent.invocationId);
  const unknown = await sent();
  await fixture.endExecution(unknown);
  await waitFor(async () => (await lifecycle.expire(unknown.gatedCallId)) === 'outcome_unknown');
  await lifecycle.settleResult({ ...unknown, cause: 'result' }, { ...RESULT, isError: false });
  const cancelled = await fixture.granted();
  await fixture.calls.cancel(cancelled.gatedCallId);
  const denied = await ended('denied', 'resolution_denied');
  const failed = await ended('failed', 'resolution_failed');
  const pending = await fixture.pending();
  const { binding } = await lifecycle.load(pending.gatedCallId);
  await approvedRequest(pool, { id: `arq_${pending.gatedCallId}`, call_digest: binding.callDigest });
  const { binding: ran } = await lifecycle.load(executed.gatedCallId);
  await approvedByGrant(pool, { id: `arq_${executed.gatedCallId}`, callDigest: ran.callDigest });
  return {
    preparing: (await fixture.opened()).gatedCallId,
    pending: pending.gatedCallId,
    granted: (await fixture.granted()).gatedCallId,
    claimed: (await permitted()).gatedCallId,
    executed: executed.gatedCallId,
    failedTool: failedTool.gatedCallId,
    notSent: notSent.gatedCallId,
    unknown: unknown.gatedCallId,
    denied,
    cancelled: cancelled.gatedCallId,
    failed,
    evidence: {
      arrivals,
      requests: [],
      keyed: TEST_SEALS.digest,
      faults: [{ from: began, to: new Date().toISOString() }],
      seenTaskIds: [pending.taskId, cancelled.taskId],
      quietForMs: 600_000,
    },
  };
}

/** The access request behind a pending call, in the product's own service, approved by two people. */
async function approvedRequest(pool: Pool, of: { id: string; call_digest: string }): Promise<void> {
  const { id, call_digest } = of;
  const request = newAccessRequest({ id, callDigest: call_digest, stages: [aStage({ quorum: 2 })] });
  const store = createAccessRequestStore(pool);
  await store.create(request);
  for (const approver of ['alice', 'bob']) {
    const message = { source: 'directory', webhookId: randomUUID(), bodyDigest: 'digest' };
    await store.acceptDecision(message, newVote(request, { approver: anApprover(approver), via: 'webhook' }));
  }
}

/** The access request behind an executed call, approved by a grant that `bob` gave before. */
async function approvedByGrant(pool: Pool, of: { id: string; callDigest: string }): Promise<void> {
  const stores = { requests: createAccessRequestStore(pool), grants: createGrantStore(pool) };
  const { id } = await givenGrant(stores, grantableRequest(), { uses: 2 });
  await stores.requests.create(grantableRequest(of), [id]);
}
