import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { enforcementPoints } from '../../../apps/pdp/http/metadata.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { aTransfer, PDP_TOKEN, startTestPdp } from '../../support/pdp.ts';
import { waitFor } from '../../support/wait-for.ts';

let pdp: Awaited<ReturnType<typeof startTestPdp>> | undefined;
afterEach(async () => {
  await pdp?.stop();
  pdp = undefined;
});
const start = async (of: Parameters<typeof startTestPdp>[0] = {}) => (pdp = await startTestPdp(of));
const small = () => aTransfer({ amount: 10 });
const batchOf = (entries: number) => ({ ...small(), evaluations: Array.from({ length: entries }, () => ({})) });
const EVALUATIONS = { path: '/access/v1/evaluations' } as const;

describe('the request identifier', () => {
  it('is returned unchanged, in answers and in refusals [AZ-TR-10]', async () => {
    const { post } = await start();
    const id = 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716';
    for (const headers of [{}, { Authorization: null }, { 'Content-Type': 'text/plain' }]) {
      const answer = await post(small(), { headers: { 'X-Request-ID': id, ...headers } });
      expect(answer.headers.get('x-request-id')).toBe(id);
    }
  });

  it('is generated for each request without one [AZ-TR-11]', async () => {
    const { post } = await start();
    const answers = [await post(small()), await post(small())];
    const ids = answers.map(({ status, headers }) => [status, headers.get('x-request-id')]);
    expect(ids).toEqual([0, 1].map(() => [200, expect.stringMatching(/^[0-9a-f-]{36}$/)]));
    expect(new Set(ids.map(String)).size).toBe(2);
  });

  it.each([
    ['10 kB', 'x'.repeat(10_000), 200],
    ['tabs and quotes', 'a\tb"c\'<script>', 200],
    ['bytes above ASCII', '\u00e9\u00ff', 200],
    ['a character that ends lines', 'a\rSet-Cookie: x=y', 400],
    ['a character that ends texts', 'a\0b', 400],
    ['more bytes than a header may have', 'x'.repeat(100_000), 431],
  ])('is safe with %s [AZ-TR-10, AZ-TR-15]', async (_name, id, status) => {
    const { origin, post } = await start();
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    const body = JSON.stringify(small());
    const head = `POST /access/v1/evaluation HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer ${PDP_TOKEN}\r\nContent-Length: ${body.length}\r\nX-Request-ID: ${id}\r\n\r\n`;
    socket.write(head + body, 'latin1');
    const answer = await text(socket.setEncoding('latin1'));
    const [first, ...headers] = (answer.split('\r\n\r\n')[0] ?? '').split('\r\n');
    expect(first).toContain(` ${status} `);
    const echoed = headers
      .filter((line) => /^x-request-id:/i.test(line))
      .map((line) => line.slice('x-request-id: '.length));
    expect(echoed).toEqual(status === 200 ? [id] : []);
    expect(headers.filter((line) => /^set-cookie/i.test(line))).toEqual([]);
    expect((await post(small())).body).toEqual({ decision: true });
  });
});

describe('an ambiguous body', () => {
  it.each([
    [
      'a member twice',
      '{"subject":{"type":"user","id":"bob","id":"alice"},"action":{"name":"read"}}',
      /a member twice/,
    ],
    ['a member twice, once in escapes', '{"subject":{"id":"bob","\\u0069d":"alice"}}', /a member twice/],
    ['a number beyond a double', '{"context":{"amount":1e400}}', /too long to be kept/],
    ['a number that would be rounded', '{"context":{"amount":9007199254740993}}', /too long to be kept/],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /not UTF-8/],
  ])('is refused: %s [AZ-TR-13]', async (_name, body, why) => {
    const { post } = await start();
    for (const path of ['/access/v1/evaluation', '/access/v1/evaluations', '/access/v1/search/subject']) {
      const answer = await post(body, { path });
      expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(why)]);
    }
  });
});

describe('the limits of a decision point', () => {
  it('refuse more evaluations per second than allowed for one enforcement point, with entries of batches counted [AZ-TR-15]', async () => {
    const other = 'a-token-of-another-enforcement-point';
    const { post } = await start({
      limits: { maxEvaluationsPerSecond: 20 },
      enforcementPoints: [{ name: 'other', token: other }],
    });
    expect((await post(batchOf(15), EVALUATIONS)).status).toBe(200);
    const isRefused = ({ status }: { status: number }) => status === 429;
    const batches = () => Array.from({ length: 4 }, () => post(batchOf(15), EVALUATIONS));
    // A second may pass between two batches.
    const refused = await waitFor(async () => (await Promise.all(batches())).find(isRefused));
    expect(refused.text).toContain('ask again later');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const smallAmongBatches = async () => (await Promise.all([...batches(), post(small())])).at(-1);
    await waitFor(async () => (await smallAmongBatches())?.status === 429);
    // Each enforcement point has its own limit.
    expect((await post(small(), { headers: { Authorization: `Bearer ${other}` } })).status).toBe(200);
  });

  it('count each entry of a batch [AZ-TR-15]', async () => {
    const { post } = await start({ limits: { maxEvaluationsPerSecond: 250 } });
    // A second may pass during a request. No second has time for 250 requests of 256 entries.
    await waitFor(async () => (await post(batchOf(256), EVALUATIONS)).status === 429);
  });

  it('refuse requests above the concurrency limit before their bodies are read, and accept them again later [AZ-TR-15]', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const { post } = await start({
      limits: { maxConcurrentRequests: 2 },
      decide: { evaluations: { record: () => held } },
    });
    const waiting = [post(aTransfer()), post(aTransfer())];
    let refused = await post(small());
    // The others are on their way.
    while (refused.status === 200) refused = await post(small());
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect((await post('x'.repeat(1_000_000))).status).toBe(429);
    release();
    await Promise.all(waiting);
    expect((await post(small())).status).toBe(200);
  });

  it('let other requests proceed during a long batch [AZ-TR-15]', async () => {
    const { post, origin } = await start();
    let isDone = false;
    const long = post(batchOf(256), EVALUATIONS).then((answer) => {
      isDone = true;
      return answer;
    });
    let turns = 0;
    while (!isDone) {
      await fetch(`${origin}/healthz`);
      turns += 1;
    }
    expect((await long).body.evaluations).toHaveLength(256);
    expect(turns).toBeGreaterThan(2);
  });
});

describe('several enforcement points', () => {
  const TOKEN = 'a-token-of-the-billing-gateway';

  it('have names, and denials are bound to them [AZ-SE-02, AZ-SE-06]', async () => {
    const { post, recorded } = await start({
      enforcementPoints: [{ name: 'billing-gateway', token: TOKEN }],
    });
    await post(aTransfer());
    await post(aTransfer(), { headers: { Authorization: `Bearer ${TOKEN}` } });
    expect(recorded.map(({ requester }) => requester)).toEqual(['mcp-gateway', 'billing-gateway']);
  });

  it("come from the configuration, with tokens or token files, and cannot use the gateway's name", async () => {
    const parse = (points: object) =>
      parseConfig({ pdp: { enforcementPoints: points } }, { baseDir: '/etc/countersign', stateDir: '/' });
    const own = { name: 'mcp-gateway', token: PDP_TOKEN };
    expect(await enforcementPoints(parse({ 'billing-gateway': { token: TOKEN } }), PDP_TOKEN)).toEqual([
      own,
      { name: 'billing-gateway', token: TOKEN },
    ]);
    expect(parse({ billing: { token: { file: 'token' } } }).pdp.enforcementPoints).toEqual({
      billing: { token: { file: '/etc/countersign/token' } },
    });
    await expect(enforcementPoints(parse({ billing: { token: 'short' } }), PDP_TOKEN)).rejects.toThrow(
      /pdp\.enforcementPoints\.billing\.token is too short/,
    );
    expect(() => parse({ 'mcp-gateway': { token: TOKEN } })).toThrow(/is the name of the gateway/);
  });
});
