import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { ofPerson } from '../../support/submissions.ts';
import { waitFor } from '../../support/wait-for.ts';

type Opened = { id: string; callDigest: string };

/** A client other than our gateway, with an address below the same server. */
const OPS = {
  token: 'a-token-of-the-operators-console-0123456789',
  secret: `whsec_${Buffer.from('a secret of the operators console').toString('base64')}`,
  endpoint: (port: number) => `http://127.0.0.1:${port}/ops`,
};

describe('a callback', () => {
  const listening = freePort().then((port) => ({ port }));
  const service = new ApprovalsUnderTest();
  beforeAll(async () => {
    const { port } = await listening;
    const ops = {
      token: OPS.token,
      rights: ['submit', 'status'],
      callbacks: [OPS.endpoint(port)],
      callbackSecret: OPS.secret,
      callbackNetworks: ['127.0.0.0/8'],
    };
    await service.start({ gateway: { port }, approvals: { clients: { ops } } });
  });
  afterAll(() => service.stop());

  const received = (id: string) => service.callbacks.filter(({ body }) => body.includes(id));

  it('tells the gateway of the end with its state and a signature, and without the approval [ARAP-CB-04] [ARAP-CB-06] [ARAP-CB-08]', async () => {
    const request = await service.open();
    await service.vote('alice', request, 'approve');
    await waitFor(() => received(request.id).length > 0);
    const [{ headers, body } = { headers: {}, body: '' }] = received(request.id);
    new Webhook(service.secrets.callbackSecret).verify(body, headers as Record<string, string>);
    expect(JSON.parse(body)).toEqual({
      state: 'opaque-state',
      task: {
        id: request.id,
        status: 'approved',
        status_endpoint: `${service.config.urls.accessRequests}/${request.id}`,
      },
    });
  });

  it('is repeated unchanged until the receiver accepts it', async () => {
    service.callbackAnswers.push(500, 302, 401);
    const request = await service.open();
    await service.vote('alice', request, 'deny');
    await waitFor(() => received(request.id).length === 4);
    expect(new Set(received(request.id).map(({ body }) => body)).size).toBe(1);
    expect(new Set(received(request.id).map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await waitFor(async () => {
      const left = 'SELECT FROM approvals.outbox WHERE subject_id = $1';
      return (await service.database.pool.query(left, [request.id])).rowCount === 0;
    });
    expect(received(request.id)).toHaveLength(4);
  });

  it('is given up when its address is gone', async () => {
    service.callbackAnswers.push(410);
    const request = await service.open();
    await service.vote('alice', request, 'deny');
    await waitFor(() => service.log.includes('a callback was given up'));
    expect(received(request.id)).toHaveLength(1);
  });

  it.each([
    ['approved', (request: Opened) => service.vote('alice', request, 'approve')],
    ['denied', (request: Opened) => service.vote('alice', request, 'deny')],
    ['cancelled', (request: Opened) => service.asPerson('bob', `/requests/${request.id}/cancel`, { method: 'POST' })],
  ])(
    'announces the end that the client named, and every end when it named no event: %s [ARAP-CB-05] [PRJ-14]',
    async (event, end) => {
      const endpoint = `${service.config.urls.gateway}/callbacks/access-requests`;
      // A request of a person, who alone can cancel it.
      const { body, ...own } = ofPerson(service.config.urls.issuer, { person: 'bob', agent: 'coder' });
      const named = await service.open({ ...own, body: { ...body, callback: { endpoint, events: [event] } } });
      const all = await service.open({ ...own, body: { ...body, callback: { endpoint } } });
      for (const request of [named, all]) {
        await end(request);
        await waitFor(() => received(request.id).length === 1);
        const { state, task } = JSON.parse(received(request.id)[0]?.body ?? '') as {
          state?: string;
          task: { status: string };
        };
        expect([state, task.status]).toEqual([undefined, event]);
      }
    },
  );

  it("returns the client's state unchanged, for any value [ARAP-CB-04]", async () => {
    const state = 'gen-1.\u00e9\ud83d\ude00"\\<&>\n';
    const endpoint = `${service.config.urls.gateway}/callbacks/access-requests`;
    const request = await service.open({ body: { callback: { endpoint, state } } });
    await service.vote('alice', request, 'deny');
    await waitFor(() => received(request.id).length === 1);
    expect((JSON.parse(received(request.id)[0]?.body ?? '') as { state: string }).state).toBe(state);
  });

  it('is sent to another client at its registered address, signed with its own secret [ARAP-CB-02] [ARAP-CB-08]', async () => {
    const body = await service.submission({
      claims: { requester: 'ops' },
      body: { callback: { endpoint: OPS.endpoint(service.config.gateway.port) }, client: { id: 'ops' } },
    });
    const { body: answer } = await service.submit(body, { authorization: `Bearer ${OPS.token}` });
    const { callDigest } = (await service.asPerson('alice', `/requests/${answer.task.id}`)).body.request;
    await service.vote('alice', { id: answer.task.id, callDigest }, 'deny');
    await waitFor(() => received(answer.task.id).length === 1);
    const [{ headers, body: text } = { headers: {}, body: '' }] = received(answer.task.id);
    new Webhook(OPS.secret).verify(text, headers as Record<string, string>);
    expect(() => new Webhook(service.secrets.callbackSecret).verify(text, headers as Record<string, string>)).toThrow();
  });

  it.each(['/other', '?x=1', '#x', '/../callbacks/access-requests'])(
    'is refused for an address that is not registered: …%s [ARAP-CB-02] [PRJ-15]',
    async (more) => {
      const endpoint = `${service.config.urls.gateway}/callbacks/access-requests${more}`;
      const { status, body } = await service.submit(await service.submission({ body: { callback: { endpoint } } }));
      expect([status, body.type]).toEqual([400, 'about:blank']);
    },
  );

  it('is not sent for an end that the client did not ask for [ARAP-CB-05]', async () => {
    const callback = { endpoint: `${service.config.urls.gateway}/callbacks/access-requests`, events: ['denied'] };
    const quiet = await service.open({ body: { callback } });
    await service.vote('alice', quiet, 'approve');
    const { rows } = await service.database.pool.query(
      'SELECT count(*)::int AS n FROM approvals.outbox WHERE subject_id = $1',
      [quiet.id],
    );
    expect(rows[0].n).toBe(0);
  });
});
