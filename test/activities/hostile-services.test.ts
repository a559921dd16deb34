import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { anApproval, gatedCallFixture } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { serve } from '../support/serve.ts';
import { anAccessRequestClient, aPdpClient } from '../support/authority-clients.ts';
import { stepsIn, type World } from '../support/steps.ts';

const PERMIT = { decision: true, context: { evaluation_id: 'eval_permit' } };
const DENY = { decision: false, context: { evaluation_id: 'eval_deny', reason: 'policy_denied' } };
const OFFER = { expires_at: '2126-11-21T09:10:00Z', binding_token: 'eyJ.token' };

/** The worker's steps against services that lie. Answers arrive over HTTP and are read as in production. */
describe('a call that waits', () => {
  const own = ownCalls();
  let server!: HttpServer;
  /** Requests that were answered, by method and path. */
  let asked: string[];
  let pdpSays: unknown;
  let serviceSays: (request: IncomingMessage, response: ServerResponse) => void;
  beforeAll(async () => {
    server = await serve((request, response) => {
      void text(request).then(() => {
        asked.push(`${request.method} ${request.url}`);
        response.setHeader('content-type', 'application/json');
        if (request.url === '/access/v1/evaluation') response.end(JSON.stringify(pdpSays));
        else serviceSays(request, response);
      });
    });
  });
  afterAll(() => server?.close());
  beforeEach(() => {
    asked = [];
    pdpSays = PERMIT;
    says({ status: 'pending' });
  });

  const REQUESTS = '/access/v1/requests';
  /** One entry for each request that the decision point is asked about. */
  const says = (task: object, result?: unknown) => {
    serviceSays = ({ url = '' }, response) => {
      const own = { id: url.slice(url.lastIndexOf('/') + 1), status_endpoint: `${server.url}${url}` };
      response.end(JSON.stringify({ task: { ...own, ...task }, result }));
    };
  };
  const granted = (approval = anApproval()) =>
    says({ status: 'approved' }, { mode: 'reevaluate', approval: wireOf(approval) });

  const aHandle = () => {
    const accessRequestId = `arq_${randomUUID()}`;
    return { accessRequestId, statusEndpoint: `${server.url}${REQUESTS}/${accessRequestId}` };
  };

  /** A call that waits, and one more step of it. */
  async function waiting(fixture = own.fixture) {
    const call = await fixture.opened();
    const handle = aHandle();
    await fixture.lifecycle.attachHandle(call.gatedCallId, 1, handle);
    return { ...call, address: `${REQUESTS}/${handle.accessRequestId}` };
  }
  function step(call: { gatedCallId: string }, world: World = {}, fixture = own.fixture) {
    const accessRequestsUrl = `${server.url}${REQUESTS}`;
    const pdp = aPdpClient(server.url, { accessRequestsUrl, metadata: 'ignored' });
    const accessRequests = anAccessRequestClient(server.url);
    return stepsIn({ pdp, accessRequests, ...world }, fixture.lifecycle).toTheClaim(call);
  }
  const rowOf = async ({ gatedCallId }: { gatedCallId: string }) =>
    (
      await own.db.pool.query<{ state: string; reason: string | null; claims: number }>(
        `SELECT state, reason, (SELECT count(*)::int FROM gateway.execution_claim WHERE gated_call_id = $1) AS claims
         FROM gateway.gated_call WHERE id = $1`,
        [gatedCallId],
      )
    ).rows[0];
  const unclaimed = (state: string, reason: string | null = null) => ({ state, reason, claims: 0 });

  describe('for an access request service that lies', () => {
    it.each([
      ['an unknown status', { status: 'APPROVED' }, {}],
      ['an approval in another mode', { status: 'approved' }, { mode: 'token', approval: wireOf(anApproval()) }],
      ['no approval', { status: 'approved' }, { mode: 'reevaluate' }],
      ['a part of an approval', { status: 'approved' }, { mode: 'reevaluate', approval: { id: 'apr_1' } }],
      [
        'an approval of a request that is still pending',
        { status: 'pending' },
        { mode: 'reevaluate', approval: wireOf(anApproval()) },
      ],
    ])('goes on waiting when it is told %s [PRJ-23]', async (_what, task, result) => {
      const call = await waiting();
      says(task, result);
      expect(await step(call)).toMatchObject({ kind: 'open' });
      expect(await rowOf(call)).toEqual(unclaimed('pending'));
      expect(asked).not.toContain('POST /access/v1/evaluation');
    });

    it('keeps to the first end that it was told, even if the service takes it back later', async () => {
      const [denied, approved] = [await waiting(), await waiting()];
      says({ status: 'denied' });
      expect(await step(denied)).toEqual({ kind: 'ended' });
      granted();
      expect(await step(denied)).toEqual({ kind: 'ended' });
      expect(await rowOf(denied)).toEqual(unclaimed('denied', 'resolution_denied'));
      // The request is approved before policy is asked again. The first approval holds, even if the service says
      // otherwise by then.
      pdpSays = 'an unreadable answer';
      granted();
      expect(await step(approved)).toMatchObject({ kind: 'retry' });
      says({ status: 'denied' });
      pdpSays = PERMIT;
      expect(await step(approved)).toMatchObject({ kind: 'claimed' });
    });

    it('does not run on the approval of another call [PRJ-33]', async () => {
      const [first, second] = [await waiting(), await waiting()];
      const approval = anApproval();
      granted(approval);
      expect(await step(first)).toMatchObject({ kind: 'claimed' });
      expect(await step(second)).toEqual({ kind: 'ended' });
      expect(await rowOf(second)).toEqual(unclaimed('denied', 'approval_used'));
    });

    it('asks at the first address, even if a later answer names another', async () => {
      const call = await waiting();
      const moved = `${server.url}/elsewhere`;
      says({ status: 'pending', status_endpoint: moved, links: { cancel: moved } });
      for (let n = 0; n < 3; n += 1) await step(call);
      expect(asked).toEqual(Array.from({ length: 3 }, () => `GET ${call.address}`));
    });

    it.each([301, 302, 303, 307, 308])('follows no redirect (%i) [ARAP-SEC-03]', async (status) => {
      const call = await waiting();
      serviceSays = (_request, response) => response.writeHead(status, { location: '/elsewhere' }).end();
      expect(await step(call)).toMatchObject({ kind: 'open' });
      expect(asked).toEqual([`GET ${call.address}`]);
      expect(await rowOf(call)).toEqual(unclaimed('pending'));
    });
  });

  describe('for a policy decision point that lies', () => {
    it.each([
      ['text instead of a decision', { decision: 'true' }],
      ['a number instead of a decision', { decision: 1 }],
      ['no decision', {}],
      [
        'an approval that ends on an impossible date',
        { decision: true, context: { approval: { approved_until: 'soon' } } },
      ],
    ])('stays approved and waits when it is told %s', async (_what, body) => {
      const call = await waiting();
      granted();
      pdpSays = body;
      expect(await step(call)).toMatchObject({ kind: 'retry' });
      expect(await rowOf(call)).toEqual(unclaimed('granted'));
    });

    it('does not run on a permit past the end that the permit names, even while the approval is still valid [ARAP-REV-12]', async () => {
      const call = await waiting();
      granted();
      const until = (ms: number) => new Date(Date.now() + ms).toISOString();
      pdpSays = { decision: true, context: { approval: { approved_until: until(-1) } } };
      expect(await step(call, { isDecidedOnce: true })).toMatchObject({ kind: 'retry' });
      expect(await rowOf(call)).toEqual(unclaimed('granted'));
      pdpSays = { decision: true, context: { approval: { approved_until: until(3_600_000) } } };
      expect(await step(call)).toMatchObject({ kind: 'claimed' });
    });

    it('does not run on an expired permit when the next answer is a denial', async () => {
      const call = await waiting();
      granted();
      // When the permit is used, its request is already six seconds old.
      const load = async (gatedCallId: string) => {
        const found = await own.fixture.lifecycle.load(gatedCallId);
        return { ...found, readAt: { ...found.readAt, databaseMs: found.readAt.databaseMs - 6_000 } };
      };
      expect(await step(call, { store: { load }, isDecidedOnce: true })).toMatchObject({ kind: 'retry' });
      pdpSays = DENY;
      expect(await step(call)).toEqual({ kind: 'ended' });
      expect(await rowOf(call)).toEqual(unclaimed('denied', 'policy_denied'));
    });

    it('is denied at the end of the approval when it is told to be patient for ever, after few questions', async () => {
      const call = await waiting();
      granted(anApproval({ approvedUntil: new Date(Date.now() + 3_600_000).toISOString() }));
      pdpSays = { decision: false, context: { next_action: 'retry', retry_after: 0 } };
      let found = await step(call);
      while (found.kind === 'retry') {
        // Acts as if this much time had passed.
        await own.db.pool.query(
          `UPDATE gateway.gated_call SET last_updated_at = last_updated_at - $2 * interval '1 ms',
             approval_expires_at = approval_expires_at - $2 * interval '1 ms' WHERE id = $1`,
          [call.gatedCallId, found.waitMs],
        );
        found = await step(call);
      }
      expect(await rowOf(call)).toEqual(unclaimed('denied', 'approval_expired'));
      const questions = asked.filter((one) => one.startsWith('POST')).length;
      expect(questions).toBeGreaterThan(20);
      expect(questions).toBeLessThan(120);
    });

    it('is denied when the policy requires approval after approval', async () => {
      const call = await waiting();
      const next = {
        decision: false,
        context: { evaluation_id: 'eval_more', next_action: 'request', access_request: OFFER },
      };
      pdpSays = next;
      for (let generation = 1; generation <= 2; generation += 1) {
        granted();
        await step(call);
        if (generation === 1) await own.fixture.lifecycle.attachHandle(call.gatedCallId, 2, aHandle());
      }
      expect(await rowOf(call)).toEqual(unclaimed('denied', 'chain_limit'));
    });

    it.each([
      ['to request, without an offer', { next_action: 'request' }],
      ['an unknown thing', { next_action: 'escalate', reason: 'because' }],
    ])('is denied when it is told to do %s', async (_what, context) => {
      const call = await waiting();
      granted();
      pdpSays = { decision: false, context };
      expect(await step(call)).toEqual({ kind: 'ended' });
      expect(await rowOf(call)).toEqual(unclaimed('denied', 'policy_denied'));
    });
  });

  it('ends at its deadline when no service ever gives a readable answer', async () => {
    const short = gatedCallFixture(own.db.pool, { requestTtlMs: 1 });
    const call = await waiting(short);
    serviceSays = (_request, response) => response.end('<html>');
    expect(await step(call, {}, short)).toEqual({ kind: 'ended' });
    expect(await rowOf(call)).toEqual(unclaimed('denied', 'request_expired'));
  });
});

/** An approval as an access request service writes it. */
function wireOf({ presented }: ReturnType<typeof anApproval>) {
  return presented;
}
