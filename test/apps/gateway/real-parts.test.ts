import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { startGateway } from '../../../apps/gateway/main.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import type { Running } from '../../../apps/shared/lifecycle.ts';
import { anAuthority } from '../../support/authority-stub.ts';
import { SEALING_SECRETS } from '../../support/gated-calls.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import { CALLBACK_SECRET } from '../../support/gateway.ts';
import { send as sendTo, type Sent } from '../../support/gateway-wire.ts';

const server = new URL('../../clients/fixtures/crashing-server.mjs', import.meta.url).pathname;

let authority: Awaited<ReturnType<typeof anAuthority>>;
let database: TestDatabase;
let gateway: Running;
let mcpUrl: string;
const received: string[] = [];

beforeAll(async () => {
  authority = await anAuthority();
  database = await createTestDatabase();
  const config = parseConfig(
    {
      mcpServers: { files: { command: process.execPath, args: [server] } },
      gateway: { port: await freePort(), maxOpenPerCaller: 3 },
      pdp: { url: authority.url },
      approvals: { url: authority.url },
      identity: { issuer: authority.url },
    },
    { baseDir: '/', stateDir: '/' },
  );
  mcpUrl = config.urls.mcp;
  gateway = await startGateway(
    config,
    {
      pdpToken: 'pdp-token-of-the-gateway',
      accessRequestToken: 'ars-token-of-the-gateway',
      callbackSecret: CALLBACK_SECRET,
      ...SEALING_SECRETS,
    },
    { databaseUrl: database.url, log: pino({ level: 'silent' }) },
  );
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
  await authority.close();
});
beforeEach(async () => {
  await database.pool.query('UPDATE gateway.gated_call SET owner_key = id::text WHERE ended_at IS NULL');
  authority.seen.length = 0;
  let requests = 0;
  authority.decide = () => ({
    decision: false,
    context: {
      evaluation_id: 'canary-evaluation',
      reason: 'canary-reason',
      access_request: {
        expires_at: '2126-01-01T00:00:00Z',
        binding_token: 'canary-token',
        template: 'canary-template',
      },
    },
  });
  authority.accept = () => ({
    status: 202,
    body: {
      task: {
        id: `canary-request-${Date.now()}-${(requests += 1)}`,
        status: 'pending',
        status_endpoint: `${authority.url}/access/v1/requests/canary-status`,
      },
    },
  });
});

const send = async (method: string, params: Record<string, unknown>, token?: string): Promise<Sent> => {
  const answer = await sendTo({ mcpUrl }, method, params, { token: token ?? (await authority.token({ aud: mcpUrl })) });
  received.push(answer.text);
  return answer;
};
const call = (args: Record<string, unknown>, token?: string) =>
  send('tools/call', { name: 'files__pid', arguments: args }, token);
const taskIdOf = ({ body }: Sent) => body.result?.['taskId'] as string;

describe('access tokens', () => {
  const now = Math.floor(Date.now() / 1_000);
  it.each([
    ['has expired', { exp: now - 3_600 }, false],
    ['is for another audience', { aud: 'http://other.test/mcp' }, false],
    ['is of another issuer', { iss: 'http://other.test' }, false],
    ['is signed with another key', {}, true],
    ['names nobody', { sub: '' }, false],
  ])('that %s opens nothing', async (_case, claims, forged) => {
    const { status } = await call({}, await authority.token({ aud: mcpUrl, ...claims }, forged));
    expect(status).toBe(401);
    expect(authority.seen.filter(({ path }) => path.startsWith('/access'))).toEqual([]);
  });
});

describe('an allowed call', () => {
  it('reaches the tool', async () => {
    authority.decide = () => ({ decision: true });
    expect((await call({ n: 1 })).body.result).toMatchObject({
      content: [{ type: 'text', text: expect.stringMatching(/^\d+$/) }],
    });
  });
});

describe('a call that needs an approval', () => {
  it('is one task and one submission, however often it is made at once', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => call({ n: 2 })));
    const ids = new Set(answers.map(taskIdOf));
    expect(ids.size).toBe(1);
    expect([...ids][0]).toMatch(/^tsk_[0-9a-f]{32}$/);
    const [submission, ...more] = authority.submissions();
    expect(more).toEqual([]);
    expect(submission?.headers).toMatchObject({ authorization: 'Bearer ars-token-of-the-gateway' });
    expect(submission?.headers['idempotency-key']).toMatch(/^[\w-]{43}$/);
    expect(JSON.parse(submission?.body ?? '')).toMatchObject({
      context: { arguments: { n: 2 }, agent: 'agent-7' },
      denial: { binding_token: 'canary-token', evaluation_id: 'canary-evaluation' },
    });
  });

  it('can be read and cancelled by its owner at once, and by nobody else', async () => {
    const taskId = taskIdOf(await call({ n: 3 }));
    expect((await send('tasks/get', { taskId })).body.result).toMatchObject({ status: 'working', taskId });
    for (const claims of [{ sub: 'mallory' }, { client_id: 'agent-8' }]) {
      const foreign = await authority.token({ aud: mcpUrl, ...claims });
      for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
        expect((await send(method, { taskId }, foreign)).body.error?.code).toBe(-32_602);
      }
    }
    expect((await send('tasks/get', { taskId })).body.result).toMatchObject({ status: 'working' });
    expect((await send('tasks/cancel', { taskId })).body.result).toMatchObject({ resultType: 'complete' });
    expect((await send('tasks/get', { taskId })).body.result).toMatchObject({
      status: 'cancelled',
      _meta: { 'dev.countersign/outcome-ref': expect.any(String) },
    });
    expect(taskIdOf(await call({ n: 3 }))).not.toBe(taskId);
  });

  it('is not opened beyond the limit', async () => {
    for (const n of [10, 11, 12]) expect(taskIdOf(await call({ n }))).toBeDefined();
    const { result } = (await call({ n: 13 })).body;
    expect(result).toMatchObject({ isError: true });
    expect(authority.submissions()).toHaveLength(3);
  });

  it('waits for a service that is away, and goes on under the same key', async () => {
    const accept = authority.accept;
    authority.accept = () => ({ status: 503, body: {} });
    expect((await call({ n: 20 })).body.error).toMatchObject({ code: -32_603 });
    authority.accept = accept;
    expect(taskIdOf(await call({ n: 20 }))).toBeDefined();
    const keys = authority.submissions().map(({ headers, body }) => `${headers['idempotency-key'] as string} ${body}`);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('is denied when the service refuses it', async () => {
    authority.accept = () => ({ status: 400, body: { type: 'about:blank' } });
    const { result } = (await call({ n: 21 })).body;
    expect(result).toMatchObject({ isError: true });
    expect(result).not.toHaveProperty('taskId');
  });
});

describe('whatever a client was sent', () => {
  it('holds nothing that belongs to the authority side', () => {
    expect(received.length).toBeGreaterThan(20);
    expect(received.join('\n')).not.toMatch(/canary|binding_token|evaluation_id|access\/v1|\.[jt]s:\d+/);
  });
});
