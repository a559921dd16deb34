import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { JWTPayload } from 'jose';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { send as sendTo, transfer } from '../../support/gateway-wire.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { subscribe } from '../../support/subscriber.ts';

type Real = Awaited<ReturnType<typeof startRealGateway>>;

/** Every way to a gated call, each with its answer to a caller who may not see it. */
const WAYS = ['tasks/get', 'tasks/update', 'tasks/cancel', 'get_request_status', 'subscriptions/listen'] as const;

function asCallers(of: () => Real) {
  const send = async (method: string, params: Record<string, unknown>, claims: JWTPayload) =>
    of().send(method, params, await of().authority.token({ aud: of().mcpUrl, ...claims }));
  let calls = 0;
  const open = async (claims: JWTPayload, n = (calls += 1)) => {
    const { body } = await send('tools/call', { name: 'files__pid', arguments: { n } }, claims);
    return body.result?.['taskId'] as string | undefined;
  };
  const referenceOf = async (claims: JWTPayload) => {
    const asked = { tool: 'files__pid', arguments: { n: (calls += 1) } };
    const { text } = await send('tools/call', { name: 'request_access', arguments: asked }, claims);
    return /req_[0-9a-f]{32}/.exec(text)?.[0];
  };
  /** Whether the caller can reach the task. */
  const sees = async (way: (typeof WAYS)[number], { taskId, reference }: Handles, claims: JWTPayload) => {
    if (way === 'get_request_status') {
      const { text } = await send('tools/call', { name: way, arguments: { reference } }, claims);
      return text.includes(String(reference));
    }
    if (way === 'subscriptions/listen') {
      const token = await of().authority.token({ aud: of().mcpUrl, ...claims });
      const { messages, leave } = await subscribe(of(), { taskIds: [taskId] }, { token });
      leave();
      return JSON.stringify(messages[0]).includes(String(taskId));
    }
    const { body } = await send(way, { taskId, ...(way === 'tasks/update' && { inputResponses: {} }) }, claims);
    return body.error === undefined;
  };
  return { send, open, referenceOf, sees };
}
interface Handles {
  readonly taskId: string | undefined;
  readonly reference: string | undefined;
}

const ALICE = { sub: 'alice', client_id: undefined, azp: 'host-1' };
describe('a task belongs to', () => {
  describe.each([
    ['subject-and-client', false],
    ['subject', true],
  ] as const)('its %s', (taskOwner, throughAny) => {
    let real: Real;
    beforeAll(async () => {
      real = await startRealGateway({ taskOwner, maxOpenPerCaller: 100 });
      real.reset();
    });
    afterAll(() => real.stop());
    const { open, referenceOf, sees } = asCallers(() => real);

    it.each(WAYS)('%s', async (way) => {
      const handles = { taskId: await open(ALICE), reference: await referenceOf(ALICE) };
      expect(handles).toEqual({ taskId: expect.any(String), reference: expect.any(String) });
      const callers: readonly (readonly [JWTPayload, boolean])[] = [
        [{ ...ALICE, sub: 'mallory' }, false],
        // Another client of the same person, or the same client under a new registration.
        [{ ...ALICE, azp: 'host-2' }, throughAny],
        [{ ...ALICE, client_id: 'host-2' }, throughAny],
        [{ ...ALICE, act: { sub: 'planner' } }, false],
        [{ ...ALICE, client_id: 'host-1' }, true],
        [ALICE, true],
      ];
      const seen: boolean[] = [];
      for (const [claims] of callers) {
        seen.push(await sees(way, handles, claims));
        // A caller that cancels the task leaves none for the next caller.
        if (way === 'tasks/cancel' && seen.at(-1) === true) handles.taskId = await open(ALICE);
      }
      expect(seen).toEqual(callers.map(([, may]) => may));
    });
  });
});

describe('open calls are counted', () => {
  let real: Real;
  beforeAll(async () => {
    real = await startRealGateway({ maxOpenPerCaller: 2, maxOpenPerSubject: 3, maxSubmissionsPerMinute: 1_000 });
    real.reset();
  });
  afterAll(() => real.stop());
  const { open } = asCallers(() => real);

  it('for each client, and for its subject across all clients and new registrations', async () => {
    const of = (client: string, sub = 'alice') => ({ sub, client_id: client });
    expect([await open(of('c-1')), await open(of('c-1'))]).toEqual([expect.any(String), expect.any(String)]);
    expect(await open(of('c-1'))).toBeUndefined();
    const last = await open(of('c-2'), 1_000);
    expect(last).toEqual(expect.any(String));
    for (const client of ['c-2', 'c-3', 'c-4']) expect(await open(of(client))).toBeUndefined();
    expect(await open({ ...of('c-5'), act: { sub: 'planner' } })).toBeUndefined();
    // A repeated open call is joined, and another subject has its own limits.
    expect(await open(of('c-2'), 1_000)).toBe(last);
    expect(await open(of('c-1', 'bob'))).toEqual(expect.any(String));
  });
});

describe('rates are counted for a subject across all its clients', () => {
  let real: Real;
  afterEach(() => real.stop());

  it('for access requests', async () => {
    real = await startRealGateway({ maxSubmissionsPerMinute: 2 });
    real.reset();
    const { open } = asCallers(() => real);
    const opened: unknown[] = [];
    for (const client of ['c-1', 'c-2', 'c-3', 'c-4', 'c-5'])
      opened.push(await open({ sub: 'alice', client_id: client }));
    // More calls pass when the machine stands still for a minute between two of them.
    expect(opened.filter((one) => one !== undefined).length).toBeLessThan(5);
    expect(await open({ sub: 'bob', client_id: 'c-1' })).toEqual(expect.any(String));
  });
});

describe('a token without a client', () => {
  let gateway: GatewayUnderTest;
  afterEach(() => gateway.stop());
  const call = () => sendTo(gateway, 'tools/call', transfer(), { token: 'token-without-client' });

  it('is refused with advice to the caller, and with one log line for the operator', async () => {
    gateway = new GatewayUnderTest();
    await gateway.start();
    for (let n = 0; n < 2; n += 1) {
      const { status, headers } = await call();
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toMatch(/invalid_token.*names no client.*client_id.*azp/);
    }
    expect(gateway.world.evaluations).toEqual([]);
    const told = gateway.logged.filter((line) => line.includes('identity.allowTokensWithoutClient'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('https://issuer.test');
  });

  it('is accepted where the operator allows it, with one log line', async () => {
    gateway = new GatewayUnderTest({ identity: { allowTokensWithoutClient: true } });
    await gateway.start();
    for (let n = 0; n < 2; n += 1) expect((await call()).status).toBe(200);
    expect(gateway.logged.filter((line) => line.includes('name no client'))).toHaveLength(1);
  });
});
