import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { serve } from '../../support/serve.ts';
import { Desk } from './run.ts';
import { OWN_COMMAND } from '../../../apps/cli/own-command.ts';

const REQUEST = {
  id: 'arq_1',
  status: 'pending',
  tool: 'files__write\u001b[2J_file',
  requester: { subject: 'agent', clientId: 'agent' },
  callDigest: `sha-256:${'ab'.repeat(32)}`,
  generation: 3,
  quorum: 2,
  approvals: 1,
  createdAt: '2026-11-21T10:00:00.000Z',
  expiresAt: '2026-11-28T10:00:00.000Z',
  arguments: { path: '/tmp/\u202egnp.x', content: 'a\u001b[31mb' },
  argumentsText: '{}',
  requesterInput: { requester_input: { justification: 'as \u202eagreed' } },
  votes: [
    {
      approver: { subject: 'bob' },
      verdict: 'approve',
      reason: 'fine',
      via: 'agent\u202e',
      at: '2026-11-21T10:01:00.000Z',
    },
  ],
};

/** There are 450 ended requests, and one of each other kind. */
function page(url: string) {
  const query = new URL(url, 'http://stub').searchParams;
  if (query.get('status') !== 'ended') return { requests: [REQUEST], count: 1 };
  const from = Number(query.get('cursor') ?? '0');
  const to = Math.min(from + Number(query.get('limit') ?? '50'), 450);
  const requests = Array.from({ length: to - from }, (_, at) => ({ ...REQUEST, id: `arq_${from + at}` }));
  return { requests, ...(to < 450 && { nextCursor: String(to) }) };
}

interface Received {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** An approvals service that records its requests. */
async function startStub() {
  const received: Received[] = [];
  const server = await serve((request, response) => {
    void text(request).then((body) => {
      const { method = '', url = '', headers } = request;
      received.push({ method, url, authorization: headers.authorization, body });
      const known = url.startsWith('/requests?') || url.startsWith('/requests/arq_1');
      response.statusCode = known ? 200 : 404;
      response.setHeader('content-type', 'application/json');
      const answer = url.startsWith('/requests?') ? page(url) : { request: REQUEST };
      response.end(JSON.stringify(known ? answer : { title: 'There is no such request', detail: 'Look again.' }));
    });
  });
  return { received, server, url: server.url };
}

let stub: Awaited<ReturnType<typeof startStub>>;
let desk: Desk;
beforeAll(async () => {
  stub = await startStub();
  desk = new Desk({ approvals: { url: stub.url } });
});
beforeEach(() => void stub.received.splice(0));
afterAll(async () => {
  await stub.server.close();
});

const env = { COUNTERSIGN_TOKEN: 'a-token-from-elsewhere' };
const run = (args: string[], answer?: string) =>
  desk.run(['requests', ...args], { env, ...(answer !== undefined && { answer }) });
const votes = () => stub.received.filter(({ method }) => method === 'POST');

describe('requests', () => {
  it('lists open requests in a table, with the given token', async () => {
    const { code, out } = await run(['list']);
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toMatch(/^ID +STATUS +TOOL +FOR +APPROVALS +ASKED +EXPIRES$/);
    expect(out).toContain('arq_1');
    expect(out).toContain('1/2');
    expect(stub.received).toEqual([
      {
        method: 'GET',
        url: '/requests?status=pending&limit=200',
        authorization: 'Bearer a-token-from-elsewhere',
        body: '',
      },
    ]);
  });

  it('lists every page or as many requests as told, and says when there are more', async () => {
    const idsIn = (out: string) => [...out.matchAll(/^arq_\d+/gm)].map(([id]) => id);
    const expected = Array.from({ length: 450 }, (_, at) => `arq_${at}`);
    const all = await run(['list', '--status', 'ended']);
    expect([idsIn(all.out), all.err]).toEqual([expected, '']);
    expect(stub.received.map(({ url }) => url)).toEqual([
      '/requests?status=ended&limit=200',
      '/requests?status=ended&limit=200&cursor=200',
      '/requests?status=ended&limit=200&cursor=400',
    ]);
    const some = await run(['list', '--status', 'ended', '--limit', '201', '--order', 'newest']);
    expect([idsIn(some.out), some.err]).toEqual([expected.slice(0, 201), expect.stringContaining('the first 201')]);
    expect(stub.received.at(-1)?.url).toBe('/requests?status=ended&order=newest&limit=1&cursor=200');
    const { out } = await run(['list', '--status', 'ended', '--limit', '450', '--json']);
    expect(JSON.parse(out)).toMatchObject({ isMore: false, requests: { length: 450 } });
    for (const limit of ['0', '-1', '1.5', 'all']) expect((await run(['list', '--limit', limit])).code).toBe(2);
  });

  it('prints the unchanged answer with --json', async () => {
    const { out } = await run(['show', 'arq_1', '--json']);
    expect(JSON.parse(out)).toEqual({ request: REQUEST });
  });

  it('escapes control characters, and shows every character of the request', async () => {
    for (const args of [['list'], ['show', 'arq_1'], ['show', 'arq_1', '--json']]) {
      const { out } = await run(args);
      for (const character of ['\u001b', '\u202e']) expect(out).not.toContain(character);
      expect(out).toMatch(/001b|\{1b\}/);
    }
    const { out } = await run(['show', 'arq_1']);
    expect(out).toContain('Arguments, exactly as the tool will get them');
    expect(out).toMatch(/approve by bob \(agent.+\)/);
    expect(out).toContain('"path": "/tmp/\\u202egnp.x"');
    expect(out).toMatch(/Stated by the requester, unverified:.*"as \\u202eagreed"/s);
  });

  it('approves the request that it showed, by digest and generation, after a yes', async () => {
    const { code, out, err, questions } = await run(['approve', 'arq_1', '--reason', 'looked at it'], 'y');
    expect(code).toBe(0);
    expect(err).toContain('/tmp/\\u202egnp.x');
    expect(questions[0]).toContain('exactly this call runs, once');
    expect(out).toContain('1 of 2 approvals');
    expect(votes()).toHaveLength(1);
    expect(votes()[0]?.url).toBe('/requests/arq_1/votes');
    expect(JSON.parse(votes()[0]?.body ?? '')).toEqual({
      verdict: 'approve',
      callDigest: REQUEST.callDigest,
      generation: 3,
      reason: 'looked at it',
    });
  });

  it.each(['', 'n', 'no', 'yep', 'approve'])('casts no vote when the answer is %j', async (answer) => {
    const { code, err } = await run(['approve', 'arq_1'], answer);
    expect(code).toBe(1);
    expect(err).toContain('no vote was cast');
    expect(votes()).toEqual([]);
  });

  it('demands --yes without a terminal, and then does not prompt', async () => {
    const refused = await run(['deny', 'arq_1']);
    expect([refused.code, votes()]).toEqual([2, []]);
    expect(refused.err).toContain('--yes');
    expect((await run(['deny', 'arq_1', '--yes'])).code).toBe(0);
    expect(JSON.parse(votes()[0]?.body ?? '')).toMatchObject({ verdict: 'deny', callDigest: REQUEST.callDigest });
  });

  it('prints the reason of a refusal in one line', async () => {
    const { code, err } = await run(['show', '../x']);
    expect(code).toBe(1);
    expect(err).toBe('countersign: There is no such request: Look again. (404)');
    expect(stub.received[0]?.url).toBe('/requests/..%2Fx');
  });
});

describe('a service that does not answer', () => {
  it('is named, with what to do', async () => {
    const lonely = new Desk({ approvals: { url: 'http://127.0.0.1:9' }, audit: { url: 'http://127.0.0.1:9' } });
    for (const group of ['requests', 'audit']) {
      const { code, err } = await lonely.run([group, 'list'], { env });
      expect(code).toBe(1);
      expect(err).toBe(
        `countersign: nothing answers at http://127.0.0.1:9; start everything with \`${OWN_COMMAND} up\``,
      );
    }
  });
});
