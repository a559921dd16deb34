import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { RESOLUTION_LINK } from '../../../workflows/domain/authzen/evaluation.ts';
import { ApprovalsUnderTest, type Answer } from '../../support/approvals.ts';
import type { SubmissionChanges } from '../../support/submissions.ts';
import { waitFor } from '../../support/wait-for.ts';

const URN = 'urn:openid:authzen:access-request:error:';
const token = () => randomBytes(32).toString('base64url');
const TOKENS = {
  reader: token(),
  enforcer: token(),
  submitter: token(),
  canceller: token(),
  narrow: token(),
  other: token(),
};
type Name = keyof typeof TOKENS;
const ours = { actsFor: 'mcp-gateway' };
/** These clients have no callback address and no issuer. */
const WITHOUT = { callback: undefined, client: { id: 'mcp-gateway', source: { generation: 1 } } };
const ALL = ['submit', 'status', 'result', 'cancel'];

describe('clients of the access request service', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: {
        clients: {
          reader: { ...ours, token: TOKENS.reader, rights: ['status'] },
          enforcer: { ...ours, token: TOKENS.enforcer, rights: ['status', 'result'] },
          submitter: { ...ours, token: TOKENS.submitter, rights: ['submit'] },
          canceller: { ...ours, token: TOKENS.canceller, rights: ['cancel'] },
          narrow: { ...ours, token: TOKENS.narrow, rights: ALL, resources: ['files__read*'], subjects: ['agent'] },
          other: { token: TOKENS.other, rights: ALL },
        },
      },
    }),
  );
  afterAll(() => service.stop());

  const as = (name: Name, path: string, init: RequestInit = {}) =>
    service.fetch(`/access/v1/requests${path}`, {
      ...init,
      headers: { authorization: `Bearer ${TOKENS[name]}`, 'content-type': 'application/json', ...init.headers },
    });
  const submitAs = async (name: Name, changes: SubmissionChanges = {}, key: string = randomUUID()) =>
    as(name, '', {
      method: 'POST',
      headers: { 'idempotency-key': key },
      body: JSON.stringify(await service.submission({ ...changes, body: { ...WITHOUT, ...changes.body } })),
    });
  const status = (name: Name, id: string) => as(name, `/${id}`);
  const cancel = (name: Name, id: string) => as(name, `/${id}/cancel`, { method: 'POST', body: '{}' });

  it.each<[Name, { submit: number; status: number; cancel: number }]>([
    ['reader', { submit: 403, status: 200, cancel: 403 }],
    ['enforcer', { submit: 403, status: 200, cancel: 403 }],
    ['submitter', { submit: 202, status: 403, cancel: 403 }],
    ['canceller', { submit: 403, status: 403, cancel: 200 }],
    ['other', { submit: 403, status: 404, cancel: 404 }],
  ])(
    'have only the rights that they were given: %s [ARAP-STS-14] [ARAP-ATH-03] [ARAP-ATH-04] [ARAP-CAN-07] [ARAP-SUB-20]',
    async (name, expected) => {
      const { id } = await service.open();
      expect((await submitAs(name)).status).toBe(expected.submit);
      expect((await status(name, id)).status).toBe(expected.status);
      expect((await cancel(name, id)).status).toBe(expected.cancel);
      if (expected.cancel !== 200) expect((await service.status(id)).body.task.status).toBe('pending');
    },
  );

  it('see the approval only with the right to it, and the cancel link only with the right to cancel [ARAP-STS-14] [ARAP-STS-13]', async () => {
    const request = await service.open();
    expect((await status('reader', request.id)).body.task.links).toEqual({ ticket: expect.any(String) });
    await service.vote('alice', request, 'approve');
    const reader = await status('reader', request.id);
    expect([reader.body.task.status, reader.body.result]).toEqual(['approved', undefined]);
    const whole = (await service.status(request.id)).body;
    const { [RESOLUTION_LINK]: _who, ...links } = whole.task.links;
    expect((await status('enforcer', request.id)).body).toEqual({ ...whole, task: { ...whole.task, links } });
  });

  it('get the same answer for tasks of other clients and for unknown tasks [ARAP-ERR-06] [ARAP-SEC-04]', async () => {
    const { id } = await service.open();
    const made = `arq_${randomBytes(16).toString('base64url')}`;
    for (const act of [status, cancel]) {
      const [foreign, unknown] = [await act('other', id), await act('other', made)];
      expect(foreign.body).toEqual(unknown.body);
      expect([foreign.status, foreign.body.type]).toEqual([404, `${URN}unknown_task`]);
      const shown = ({ headers }: typeof foreign) => {
        const all: Record<string, string> = {};
        headers.forEach((value, name) => name === 'date' || (all[name] = value));
        return all;
      };
      expect(shown(foreign)).toEqual(shown(unknown));
    }
    // Without the right, the answer does not depend on whether the task exists.
    expect((await status('submitter', id)).body).toEqual((await status('submitter', made)).body);
  });

  it('may submit and read only their own subjects and resources [ARAP-SUB-21] [ARAP-STS-14] [ARAP-ATH-03]', async () => {
    expect((await submitAs('narrow', { tool: 'files__read_secret' })).status).toBe(202);
    for (const changes of [{ tool: 'files__write_file' }, { tool: 'files__read', subject: 'carol', agent: 'carol' }]) {
      const answer = await submitAs('narrow', changes);
      expect([answer.status, answer.body.type]).toEqual([403, 'about:blank']);
    }
    const { id } = await service.open({ tool: 'files__write_file' });
    expect((await status('narrow', id)).body.type).toBe(`${URN}unknown_task`);
  });

  it('cannot submit a denial that was given to another client [ARAP-SUB-21] [ARAP-SEC-01] [PRJ-26]', async () => {
    expect((await submitAs('other')).status).toBe(403);
    expect((await submitAs('other', { claims: { requester: 'other' } })).status).toBe(202);
  });

  it('have separate idempotency keys, which do not depend on the credential [ARAP-IDM-08] [ARAP-ATH-05] [ARAP-STS-15]', async () => {
    const body = await service.submission({ body: WITHOUT });
    const first = await service.submit(body, { 'idempotency-key': 'shared' });
    const foreign = await submitAs('other', { claims: { requester: 'other' } }, 'shared');
    expect([first.status, foreign.status]).toEqual([202, 202]);
    expect(foreign.body.task.id).not.toBe(first.body.task.id);
    const init = { method: 'POST', headers: { 'idempotency-key': 'shared' }, body: JSON.stringify(body) };
    expect((await as('submitter', '', init)).body.task.id).toBe(first.body.task.id);
  });

  it('are recorded with what they submitted and cancelled [ARAP-SUB-23] [ARAP-SUB-25]', async () => {
    const requested_access = { emergency: true };
    const { body } = await submitAs('submitter', { body: { requested_access } });
    await as('canceller', `/${body.task.id}/cancel`, {
      method: 'POST',
      body: JSON.stringify({ reason: 'caller_cancelled', comment: 'not needed\u0007 any\nmore', more: 1 }),
    });
    const { rows } = await service.database.pool.query(
      'SELECT client_id, submitted_by, claimed, end_note FROM approvals.access_request WHERE id = $1',
      [body.task.id],
    );
    expect(rows[0]).toMatchObject({
      client_id: 'mcp-gateway',
      submitted_by: 'submitter',
      end_note: { by: { client: 'canceller' }, reason: 'caller_cancelled', comment: 'not needed any more' },
    });
    const claimed = JSON.parse(rows[0].claimed as string) as Record<string, object>;
    expect(claimed).toMatchObject({
      requested_access,
      client: { id: 'mcp-gateway' },
      denial: { reason: 'approval_required' },
    });
    expect(rows[0].claimed).not.toContain('binding_token');
  });

  it('cannot ask for callbacks without a registered address [ARAP-CB-02] [PRJ-15]', async () => {
    const callback = { endpoint: `${service.config.urls.gateway}/callbacks/access-requests` };
    const answer = await submitAs('submitter', { body: { callback } });
    expect([answer.status, answer.body.type]).toEqual([400, 'about:blank']);
    expect(answer.body.detail).toContain('submit again without a callback');
  });

  it('cannot list tasks [ARAP-STS-17]', async () => {
    expect((await as('other', '')).status).toBe(405);
  });
});

describe('a client that sends too many requests', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: {
        maxRequestsPerSecond: 1,
        clients: { other: { token: TOKENS.other, rights: ALL } },
      },
    }),
  );
  afterAll(() => service.stop());

  /** Asks repeatedly, many times at once: on a slow machine a second passes between two questions. */
  const refusalOf = (ask: () => Promise<Answer>) =>
    waitFor(async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, ask));
      return answers.find(({ status }) => status === 429);
    });

  it('is told to wait, for every kind of request [ARAP-CAT-18]', async () => {
    await refusalOf(() => service.asGateway('/access/v1/catalogs/centers?evaluation_id=guessed'));
  });

  it('is told to wait, and other clients are not [ARAP-STS-21] [PRJ-11]', async () => {
    const refused = await refusalOf(() => service.status('arq_none'));
    expect(refused.body.type).toBe('about:blank');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    await refusalOf(() => service.submit('{}'));
    const headers = { authorization: `Bearer ${TOKENS.other}` };
    expect((await service.fetch('/access/v1/requests/arq_none', { headers })).status).toBe(404);
  });
});

describe('the settings of a client', () => {
  const parse = (client: object, name = 'other') =>
    parseConfig(
      { approvals: { clients: { [name]: { token: TOKENS.other, rights: ['submit'], ...client } } } },
      { baseDir: '/etc', stateDir: '/' },
    );

  it('refuse the name of our own gateway', () => {
    expect(() => parse({}, 'mcp-gateway')).toThrow('mcp-gateway is the name of the gateway');
  });

  it.each<[string, object]>([
    ['no rights', { rights: [] }],
    ['an unknown right', { rights: ['approve'] }],
    ['callbacks without a secret to sign them', { callbacks: ['https://ops.example.com/ended'] }],
    ['callbacks without TLS', { callbacks: ['http://ops.example.com/ended'], callbackSecret: 'whsec_x' }],
    ['an invalid network', { callbackNetworks: ['10.0.0.0'] }],
    ['a network with an invalid prefix', { callbackNetworks: ['10.0.0.0/33'] }],
  ])('refuse %s', (_name, client) => {
    expect(() => parse(client)).toThrow();
  });

  it('resolve secret files relative to the configuration file', () => {
    expect(parse({ token: { file: 'token.txt' } }).approvals.clients['other']?.token).toEqual({
      file: '/etc/token.txt',
    });
  });
});
