import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RESOLUTION_LINK } from '../../../workflows/domain/authzen/evaluation.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { openBundle, type BundleItem } from '../../support/bundles.ts';
import { ofPerson } from '../../support/submissions.ts';

const token = () => randomBytes(32).toString('base64url');
const TOKENS = { historian: token(), reader: token(), enforcer: token(), other: token() };
type Name = keyof typeof TOKENS;
const OTHER_RIGHTS = ['submit', 'status', 'result', 'cancel'];
const ours = { actsFor: 'mcp-gateway' };

describe('the statement of who resolved a request', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: {
        bulk: {},
        clients: {
          historian: { ...ours, token: TOKENS.historian, rights: ['status', 'resolution'] },
          reader: { ...ours, token: TOKENS.reader, rights: ['status'] },
          enforcer: { ...ours, token: TOKENS.enforcer, rights: OTHER_RIGHTS },
          other: { token: TOKENS.other, rights: [...OTHER_RIGHTS, 'resolution'] },
        },
      },
    }),
  );
  afterAll(() => service.stop());

  const as = (name: Name, path: string, init: RequestInit = {}) =>
    service.fetch(`/access/v1/requests${path}`, {
      ...init,
      headers: { authorization: `Bearer ${TOKENS[name]}`, 'content-type': 'application/json' },
    });

  it.each([
    ['several lines', 'one\ntwo'],
    ['more than 500 characters', 'x'.repeat(501)],
    ['invisible characters', 'a\u200bb'],
  ])('has no message for the agent with %s: the vote is refused', async (_case, agentMessage) => {
    const request = await service.open();
    const { status, body } = await service.vote('alice', request, 'deny', { agentMessage });
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('one paragraph of at most 500')]);
    const cast = 'SELECT FROM approvals.vote WHERE access_request_id = $1';
    expect((await service.database.pool.query(cast, [request.id])).rowCount).toBe(0);
  });

  it('is shown only to clients with the right to it, and never in a status [ARAP-STS-14] [ARAP-STS-16]', async () => {
    const request = await service.open();
    const agentMessage = ' Use the canary database. ';
    await service.vote('alice', request, 'deny', { reason: 'canary-reason', agentMessage });
    const who = (name: Name, id = request.id) => as(name, `/${id}/resolution`);
    const told = await as('historian', `/${request.id}`);
    const address = `${service.config.urls.accessRequests}/${request.id}/resolution`;
    expect(told.body.task.links[RESOLUTION_LINK]).toBe(address);
    expect(JSON.stringify(told.body)).not.toMatch(/alice|canary/);
    expect((await who('historian')).body).toMatchObject({
      ...{ id: request.id, status: 'denied' },
      votes: [
        {
          ...{ approver: { subject: 'alice' }, verdict: 'deny', reason: 'canary-reason', via: 'api', stage: 1 },
          message_for_agent: 'Use the canary database.',
        },
      ],
    });
    for (const name of ['reader', 'enforcer'] as const) {
      expect((await who(name)).status).toBe(403);
      expect(JSON.stringify((await as(name, `/${request.id}`)).body)).not.toContain(RESOLUTION_LINK);
    }
    // Without the right, the answer does not depend on whether the request exists. With it, requests of other clients are
    // unknown.
    const made = `arq_${randomBytes(16).toString('base64url')}`;
    expect((await who('reader', made)).body).toEqual((await who('reader')).body);
    expect((await who('other')).body).toEqual((await who('other', made)).body);
    expect((await who('other')).status).toBe(404);
    expect((await service.fetch(`/access/v1/requests/${request.id}/resolution`)).status).toBe(401);
    expect((await as('historian', `/${request.id}/resolution`, { method: 'POST', body: '{}' })).status).toBe(405);
  });

  it('names who cancelled a request, with the name at that time, the way and the time', async () => {
    const own = ofPerson(service.config.urls.issuer, { person: 'alice', agent: 'coder' });
    const [byPerson, byClient] = [await service.open(own), await service.open()];
    const body = JSON.stringify({ reason: 'canary-reason' });
    await service.asPerson('alice', `/requests/${byPerson.id}/cancel`, { method: 'POST', body });
    await as('enforcer', `/${byClient.id}/cancel`, { method: 'POST', body: '{}' });
    const { issuer } = service.config.urls;
    const { cancelled } = (await as('historian', `/${byPerson.id}/resolution`)).body;
    expect(cancelled).toEqual({
      by: { issuer, subject: 'alice', name: 'Alice Approver' },
      ...{ reason: 'canary-reason', via: 'api', at: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    expect((await as('historian', `/${byClient.id}/resolution`)).body.cancelled).toEqual({
      ...{ by: { client: 'enforcer' }, at: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
  });

  it('covers every item of a bundle, in order', async () => {
    const bundle = await openBundle(service, 3);
    const [first, second] = bundle.items as [BundleItem, BundleItem, BundleItem];
    await service.vote('alice', second, 'approve');
    await service.vote('bob', first, 'deny');
    const { links } = (await service.status(bundle.id)).body.task;
    const { body } = await service.asGateway(links[RESOLUTION_LINK]);
    expect([body.id, body.items.map((item: { votes: object[] }) => item.votes)]).toMatchObject([
      bundle.id,
      [
        [{ approver: { subject: 'bob' }, verdict: 'deny' }],
        [{ approver: { subject: 'alice' }, verdict: 'approve' }],
        [],
      ],
    ]);
  });
});
