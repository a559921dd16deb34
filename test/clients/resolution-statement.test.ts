import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { RESOLUTION_LINK } from '../../workflows/domain/authzen/evaluation.ts';
import { anAccessRequestClient, TOKEN } from '../support/authority-clients.ts';
import { serve } from '../support/serve.ts';

type Reply = object | string | ((response: ServerResponse) => void);
const asked: { url: string; authorization: string | undefined }[] = [];
const replies: Reply[] = [];
let status: object = {};
let server: HttpServer;
beforeAll(async () => {
  server = await serve(({ url = '', headers }, response) => {
    asked.push({ url, authorization: headers.authorization });
    const reply = url === '/arq_1' ? status : ((replies.length > 1 ? replies.shift() : replies[0]) ?? {});
    if (typeof reply === 'function') return reply(response);
    const text = typeof reply === 'string' ? reply : JSON.stringify(reply);
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  });
});
afterAll(() => server.close());

const task = (links: object, taskStatus = 'denied') => ({
  task: { id: 'arq_1', status: taskStatus, status_endpoint: `${server.url}/arq_1`, links },
});

/** The reading of a denied request, where the service states this about who denied it. */
async function stated(says: Reply | readonly Reply[], links: object = { [RESOLUTION_LINK]: `${server.url}/who` }) {
  asked.length = 0;
  replies.splice(0, replies.length, ...(Array.isArray(says) ? says : [says]));
  status = task(links);
  const client = anAccessRequestClient(server.url);
  const handle = { accessRequestId: 'arq_1', statusEndpoint: `${server.url}/arq_1` };
  const read = await client.read(handle);
  expect(read.kind).toBe('denied');
  return client.stated(handle, read);
}

const vote = (more: object = {}) => ({
  approver: { issuer: 'https://idp.test', subject: 'alice', name: 'Alice Example' },
  ...{ verdict: 'deny', reason: 'no', via: 'inbox', stage: 1, at: '2026-11-21T10:00:00+02:00', ...more },
});
const statement = (more: object = {}) => ({ id: 'arq_1', status: 'denied', votes: [vote()], ...more });
const UNREADABLE = { kind: 'unreadable' };
const answering =
  (code: number, body = '{}', type = 'application/json') =>
  (response: ServerResponse) =>
    void response.writeHead(code, { 'content-type': type }).end(body);

describe("an access request service's statement of who resolved a request", () => {
  it('is read with our credential, without unknown members', async () => {
    const more = { template: 'acme', 'acme.test/score': [1e-7, null], stages: [{ name: 'one', quorum: 1, 'x.y': 1 }] };
    const found = await stated(statement({ ...more, votes: [vote({ lapsed: true, 'acme.test/mood': 'good' })] }));
    expect(found).toEqual({
      ...{ kind: 'stated', status: 'denied', template: 'acme', stages: [{ name: 'one', quorum: 1 }] },
      votes: [
        {
          approver: { issuer: 'https://idp.test', subject: 'alice', name: 'Alice Example' },
          ...{ verdict: 'deny', reason: 'no', via: 'inbox', stage: 1, hasLapsed: true, at: '2026-11-21T08:00:00.000Z' },
        },
      ],
    });
    expect(asked.at(-1)).toEqual({ url: '/who', authorization: `Bearer ${TOKEN}` });
  });

  it('says that the requester confirmed it', async () => {
    expect(await stated(statement({ votes: [vote({ as_requester: true }), vote()] }))).toMatchObject({
      votes: [{ asRequester: true }, expect.not.objectContaining({ asRequester: true })],
    });
    expect(await stated(statement({ votes: [vote({ as_requester: 'alice' })] }))).toEqual(UNREADABLE);
  });

  it('says which preview was on the page of a vote, and leaves out what is no digest', async () => {
    const preview = `sha-256:${'ab'.repeat(32)}`;
    expect(await stated(statement({ votes: [vote({ preview }), vote({ preview: 'none' })] }))).toMatchObject({
      votes: [{ preview }, expect.not.objectContaining({ preview: expect.anything() })],
    });
  });

  it('names who gave a stage more time', async () => {
    const instants = { from: '2026-11-21T10:00:00+02:00', to: '2026-11-21T09:00:00Z', at: '2026-11-21T07:00:00.000Z' };
    const extension = { by: { subject: 'bob' }, stage: 1, reason: 'lunch', via: 'inbox', ...instants };
    expect(await stated(statement({ extensions: [extension] }))).toMatchObject({
      extensions: [{ ...extension, from: '2026-11-21T08:00:00.000Z', to: '2026-11-21T09:00:00.000Z' }],
    });
    expect(await stated(statement({ extensions: [{ ...extension, by: undefined }] }))).toEqual(UNREADABLE);
  });

  it('names who handed the request over, and until when', async () => {
    const handOver = { by: { subject: 'bob' }, to: 'dora', at: '2026-11-21T07:00:00.000Z' };
    const revoked = '2026-11-21T10:00:00+02:00';
    expect(await stated(statement({ hand_overs: [handOver, { ...handOver, revoked_at: revoked }] }))).toMatchObject({
      handOvers: [handOver, { ...handOver, revokedAt: '2026-11-21T08:00:00.000Z' }],
    });
    expect(await stated(statement({ hand_overs: [{ ...handOver, to: undefined }] }))).toEqual(UNREADABLE);
  });

  it('has the questions to the requester, with their answers', async () => {
    const question = {
      by: { subject: 'bob' },
      stage: 1,
      question: 'why?',
      via: 'inbox',
      at: '2026-11-21T07:00:00.000Z',
    };
    const answered = { ...question, on_behalf_of: 'alice', answer: { text: 'so', at: '2026-11-21T10:00:00+02:00' } };
    const { on_behalf_of: _, ...rest } = answered;
    expect(await stated(statement({ questions: [question, answered] }))).toMatchObject({
      questions: [question, { ...rest, onBehalfOf: 'alice', answer: { text: 'so', at: '2026-11-21T08:00:00.000Z' } }],
    });
    expect(await stated(statement({ questions: [{ ...question, question: undefined }] }))).toEqual(UNREADABLE);
  });

  it('is absent where the service states none', async () => {
    expect(await stated(statement(), {})).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  it.each<[string, Reply]>([
    ['is of another request', statement({ id: 'arq_2' })],
    ['is about another end', statement({ status: 'approved' })],
    ['has no votes', statement({ votes: undefined })],
    ['has votes that are not a list', statement({ votes: { length: 1 } })],
    ['has a vote without an approver', statement({ votes: [vote({ approver: {} })] })],
    ['has a subject that is a number', statement({ votes: [vote({ approver: { subject: 7 } })] })],
    ['has an unknown verdict', statement({ votes: [vote({ verdict: 'abstain' })] })],
    ['has an invalid time', statement({ votes: [vote({ at: 'yesterday' })] })],
    ['has a time before the supported calendar', statement({ votes: [vote({ at: '0000-01-01T00:00:00Z' })] })],
    ['has a stage before the first', statement({ votes: [vote({ stage: 0 })] })],
    ['has a reason that is too long', statement({ votes: [vote({ reason: 'x'.repeat(5_000) })] })],
    ['has too many votes', statement({ votes: Array(1_001).fill(vote()) })],
    [
      'has an emergency without a reason',
      statement({ break_glass: { by: { subject: 's' }, at: '2026-11-21T10:00:00Z' } }),
    ],
    ['is too large', statement({ padding: 'x'.repeat(600_000) })],
    ['is a list', [statement()]],
    ['is null', 'null'],
    ['is cut off', JSON.stringify(statement()).slice(0, -5)],
    ['has a member twice', JSON.stringify(statement()).replace('{', '{"votes":[],')],
    ['is a page', answering(200, '<html></html>', 'text/html')],
    ['does not exist', answering(404)],
    ['is forbidden', answering(403)],
    ['is a redirect', (response) => void response.writeHead(302, { location: '/who' }).end()],
  ])('that %s is unreadable, and is fetched once', async (_case, says) => {
    expect(await stated(says === undefined ? {} : Array.isArray(says) ? [says] : says)).toEqual(UNREADABLE);
    expect(asked.filter(({ url }) => url === '/who')).toHaveLength(1);
  });

  it('is fetched again a few times after a temporary failure, and then no more', async () => {
    expect(await stated([answering(503), (response) => void response.destroy(), statement()])).toMatchObject({
      kind: 'stated',
    });
    expect(await stated(answering(503))).toEqual(UNREADABLE);
    expect(asked.filter(({ url }) => url === '/who')).toHaveLength(3);
  });

  it.each([
    ['another host', 'https://elsewhere.test/who'],
    ['a file', 'file:///etc/passwd'],
    ['an invalid address', 'not an address'],
    ['an address with a password', 'http://a:b@127.0.0.1:1/who'],
    ['a number', 7],
  ])('is not fetched at %s', async (_case, link) => {
    expect(await stated(statement(), { [RESOLUTION_LINK]: link })).toEqual(UNREADABLE);
    expect(asked.filter(({ url }) => url !== '/arq_1')).toEqual([]);
  });
});
