import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { automaticVoter } from '../../../workflows/domain/access-request/automatic.ts';
import { newVote } from '../../support/access-requests.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { postSigned } from '../../support/decisions.ts';
import { RuleEngine } from '../../support/rule-engine.ts';
import { waitFor } from '../../support/wait-for.ts';

type Verdict = 'approve' | 'deny';
interface Request {
  readonly id: string;
  readonly callDigest: string;
  readonly generation: number;
}

/** One way to vote, by one voter. Each returns whether the vote counts, now or since an earlier time. */
interface Door {
  readonly voter: string;
  readonly via: string;
  cast(request: Request, verdict: Verdict): Promise<boolean>;
  /**
   * Casts the same vote where the way offers none: an automatic resolver is asked once, about the current call, and only where a
   * stage names it. The test then writes the answer to the database directly.
   */
  forced(request: Request, verdict: Verdict): Promise<boolean>;
}

const REASON = 'within the limit';
const stage = (voter: string, more: object = {}) => ({
  stages: [{ name: 'only', approvers: { people: [voter, 'rival'] }, ...more }],
});

describe('each kind of resolver', () => {
  const service = new ApprovalsUnderTest();
  const engine = new RuleEngine();
  /** The engine's answer about a request, once it is released. */
  const releases = new Map<string, (verdict: Verdict) => void>();
  let browser: Browser;
  beforeAll(async () => {
    await engine.start();
    engine.replies['risk'] = (response, { data }) =>
      releases.set(data.id, (verdict) => response.end(JSON.stringify({ verdict, reason: REASON })));
    await service.start({
      identity: {
        people: [
          ...['alice', 'rival'].map((name) => ({ name, roles: ['approver'] })),
          { name: 'zoe', roles: ['approver', 'approver-overseer'] },
          { name: 'overseer', roles: ['approver-agent'] },
        ],
      },
      approvals: {
        webhookApprovers: ['carol'],
        resolvers: { risk: engine.setting('risk', { timeoutSeconds: 60 }) },
        templates: {
          ...{ person: stage('alice'), webhook: stage('carol'), agent: stage('overseer') },
          automatic: stage('zoe', { automatic: 'risk' }),
          others: stage('zoe'),
        },
      },
    });
    browser = await service.signIn('alice');
  });
  afterAll(async () => {
    await service.stop();
    await engine.stop();
  });

  const twice = (cast: Door['cast']) => ({ cast, forced: cast });
  const rows = async (id: string, text: string) => (await service.database.pool.query(text, [id])).rows;
  const doors: Record<string, Door> = {
    person: {
      ...{ voter: 'alice', via: 'inbox' },
      ...twice(async ({ id, callDigest, generation }, verdict) => {
        const page = await (await browser.go('/delegations')).text();
        const csrfToken = /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '';
        const form = { csrfToken, callDigest, generation: String(generation), verdict, reason: REASON };
        return (await browser.go(`/requests/${id}/votes`, form)).status === 303;
      }),
    },
    webhook: {
      ...{ voter: 'carol', via: 'webhook' },
      ...twice(async ({ id: requestId, ...bound }, verdict) => {
        const body = JSON.stringify({ requestId, ...bound, verdict, approver: { subject: 'carol' }, reason: REASON });
        const message = { id: `msg_${crypto.randomUUID()}`, secret: service.secrets.decisionWebhookSecret };
        return (await postSigned(`${service.url}/webhooks/decisions`, body, message)).status === 200;
      }),
    },
    agent: {
      ...{ voter: 'overseer', via: 'agent' },
      ...twice(async (request, verdict) => {
        const { generation } = request;
        return (await service.vote('overseer', request, verdict, { generation, reason: REASON })).status === 200;
      }),
    },
    automatic: {
      ...{ voter: 'automatic:risk', via: 'automatic' },
      async cast({ id }, verdict) {
        (await waitFor(() => releases.get(id)))(verdict);
        const text = 'SELECT outcome FROM approvals.resolver_answer WHERE access_request_id = $1';
        return (await waitFor(async () => (await rows(id, text))[0])).outcome === 'counted';
      },
      async forced(request, verdict) {
        const answer = { ...newVote(request), generation: request.generation, verdict, reason: REASON };
        const asked = { resolver: 'risk', stage: 1, approver: automaticVoter('risk'), via: 'automatic' } as const;
        const outcome = await createAccessRequestStore(service.database.pool).answerResolver({ ...answer, ...asked });
        return ['counted', 'repeated'].includes(outcome);
      },
    },
  };

  const recordOf = async (id: string) => (await service.asPerson('zoe', `/requests/${id}`)).body.request;
  const votesOn = (id: string) => rows(id, 'SELECT verdict, via FROM approvals.vote WHERE access_request_id = $1');

  describe.each(Object.entries(doors))('%s', (name, door) => {
    const open = (changes: object = {}, template = name) => service.open({ claims: { template }, ...changes });

    it.each([
      ['approve', 'approved'],
      ['deny', 'denied'],
    ] as const)('counts once to %s, and the record has its name, reason and way', async (verdict, status) => {
      const request = await open();
      expect(await door.cast(request, verdict)).toBe(true);
      const record = await recordOf(request.id);
      expect([record.status, record.votes.length]).toEqual([status, 1]);
      expect(record.votes[0]).toMatchObject({
        verdict,
        reason: REASON,
        via: door.via,
        approver: { subject: door.voter },
      });
    });

    it('gets the same answer when it repeats its vote, and counts once', async () => {
      const request = await open();
      await door.cast(request, 'approve');
      expect(await door.forced(request, 'approve')).toBe(true);
      expect(await votesOn(request.id)).toHaveLength(1);
    });

    it('is refused where it is not eligible', async () => {
      const request = await open({}, 'others');
      expect(await door.forced(request, 'approve')).toBe(false);
      expect((await recordOf(request.id)).status).toBe('pending');
      expect(releases.has(request.id)).toBe(false);
    });

    it.each(['subject', 'agent'])(
      'is refused when it is a party to the call, as %s [ARAP-APV-02] [ARAP-APV-03]',
      async (part) => {
        const request = await open({ subject: 'rita', [part]: door.voter });
        expect(await door.cast(request, 'approve')).toBe(false);
        expect([(await recordOf(request.id)).status, await votesOn(request.id)]).toEqual(['pending', []]);
      },
    );

    it.each([{ callDigest: `sha-256:${'0'.repeat(64)}` }, { generation: 2 }])(
      'is refused with a vote that is bound to another request: %o',
      async (stale) => {
        const request = await open();
        expect(await door.forced({ ...request, ...stale }, 'approve')).toBe(false);
        expect([(await recordOf(request.id)).status, await votesOn(request.id)]).toEqual(['pending', []]);
      },
    );

    it('is refused after the end', async () => {
      const request = await open();
      if (name === 'automatic') await waitFor(() => releases.get(request.id));
      await service.asGateway(`/access/v1/requests/${request.id}/cancel`, { method: 'POST' });
      expect(await door.cast(request, 'approve')).toBe(false);
      expect([(await recordOf(request.id)).status, await votesOn(request.id)]).toEqual(['cancelled', []]);
    });

    it('makes one resolution with a simultaneous rival, ten times', async () => {
      const rounds = Array.from({ length: 10 }, async () => {
        const request = await open();
        const [counted, rival] = await Promise.all([
          door.cast(request, 'approve'),
          waitFor(() => name !== 'automatic' || releases.has(request.id)).then(() =>
            service.vote('rival', request, 'deny'),
          ),
        ]);
        expect([counted, rival.status]).toEqual(counted ? [true, 409] : [false, 200]);
        const { status } = await recordOf(request.id);
        expect([status, await votesOn(request.id)]).toEqual([
          counted ? 'approved' : 'denied',
          [{ verdict: counted ? 'approve' : 'deny', via: counted ? door.via : 'api' }],
        ]);
      });
      await Promise.all(rounds);
    });
  });
});
