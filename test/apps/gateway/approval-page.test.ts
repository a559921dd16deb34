import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { altered } from '../../support/altered.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, REQUEST_REF, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { AUTHORIZATION, metaOf, REVISION, send, textOf, transfer, type Sent } from '../../support/gateway-wire.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A call that waits ends only because it is woken. */
const gateway = new GatewayUnderTest({ waitSeconds: 3_000 });
const hasty = new GatewayUnderTest({ waitSeconds: 0 });
const { world } = gateway;
const both = [gateway, hasty];
beforeAll(() => Promise.all(both.map((one) => one.start())));
afterAll(() => Promise.all(both.map((one) => one.stop())));
beforeEach(() => {
  for (const one of both) {
    one.reset();
    one.world.decision = requestable();
    one.world.view = HELD;
  }
});

const PAGE = 'https://approvals.test/requests/1';
/** The state of the page is good for as long as the call is kept: a second at least. */
const HELD = aView({ approvalPage: PAGE, retainUntil: '2126-12-05T09:00:00.000Z' });
const EXECUTED = aView({
  state: 'executed',
  result: JSON.stringify({ content: [{ type: 'text', text: 'booked' }] }),
});
const URLS = { elicitation: { url: {} } };
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const call = (params: object = {}, options = {}, of = gateway) =>
  send(of, 'tools/call', transfer({ ...params }), { capabilities: URLS, ...options });
const stateIn = ({ body }: Sent) => String(body.result?.['requestState']);
const back = (requestState: string, answer?: unknown) => ({
  requestState,
  ...(answer !== undefined && { inputResponses: { approval_page: answer } }),
});
const someoneWaits = () => waitFor(() => world.taskListeners.size === 1);
const end = (view = EXECUTED) => {
  world.view = view;
  world.tell(TASK_ID);
};
/** What the gateway did, in numbers. */
const deeds = () => [world.openings, world.evaluations, world.invocations, world.cancelled].map(({ length }) => length);

describe('a held call of a client that opens addresses', () => {
  it('is answered with the page of its request as a question, and waits no longer [DENIAL-015, MRTR-048]', async () => {
    const { body, text } = await call();
    expect(body.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        approval_page: {
          method: 'elicitation/create',
          params: { mode: 'url', url: PAGE, message: expect.stringMatching(/Your answer here decides nothing\.$/) },
        },
      },
    });
    expect(metaOf(body.result)[AUTHORIZATION]).toEqual({
      reason: 'insufficient_authorization',
      remediation: 'available',
      remediationHints: [{ type: 'url' }],
    });
    expect(text).not.toMatch(/elicitationId|tsk_|alice/);
    expect([world.openings.length, world.taskListeners.size]).toEqual([1, 0]);
  });

  it.each([
    ['accept', { action: 'accept' }],
    ['decline', { action: 'decline' }],
    ['cancel', { action: 'cancel' }],
    ['nothing', undefined],
    ['a claim that it is approved', { action: 'accept', content: { approved: true, verdict: 'approve' } }],
    ['a text', 'approved'],
  ])('waits for its end after any answer, and is not decided on again: %s', async (_case, answer) => {
    const state = stateIn(await call());
    const before = deeds();
    // Policy allows the call by now, and still the client gets the end of the held one.
    world.decision = { kind: 'allow' };
    const waiting = call(back(state, answer));
    await someoneWaits();
    end();
    expect(textOf((await waiting).body.result)).toMatch(/^booked\nThe tool ran once/);
    expect(deeds()).toEqual(before);
  });

  it('that no person decides in time is followed up with its reference', async () => {
    const answer = await call(back(stateIn(await call({}, {}, hasty)), { action: 'accept' }), {}, hasty);
    expect(answer.body.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(answer.body.result)).toMatch(new RegExp(`has not run.*${PAGE}.*${REQUEST_REF}`));
    expect(hasty.world.openings).toHaveLength(1);
  });

  it.each([
    ['was denied', aView({ state: 'denied', reason: 'resolution_denied' }), /did not run/],
    ['ran', EXECUTED, /^booked/],
  ])('is answered alike each time that its client comes back after it %s', async (_case, view, words) => {
    const state = stateIn(await call());
    const before = deeds();
    world.view = view;
    const answers = [await call(back(state)), await call(back(state, { action: 'accept' }))];
    expect(answers.map(({ body }) => textOf(body.result))).toEqual([0, 1].map(() => expect.stringMatching(words)));
    // The client may reject the answer: an identical call is answered with it once more.
    expect([deeds(), world.told]).toEqual([before, []]);
  });

  it('that is no longer kept is not made again', async () => {
    const state = stateIn(await call());
    const before = deeds();
    world.view = undefined;
    expect((await call(back(state))).body.error).toMatchObject({ code: -32_602 });
    expect(deeds()).toEqual(before);
  });

  it.each<[string, (state: string) => Promise<Sent>]>([
    ['another caller', (state) => call(back(state), { token: 'token-of-mallory' })],
    ['another call', (state) => call({ ...back(state), arguments: { to: 'acct-2', amount: 5 } })],
    ['another tool', (state) => call({ ...back(state), name: 'bank__anything' })],
    ['an altered state', (state) => call(back(altered(state)))],
  ])('does not answer %s', async (_case, attempt) => {
    const state = stateIn(await call());
    const before = deeds();
    const { body } = await attempt(state);
    expect(body.error).toEqual({
      ...{ code: -32_602, message: 'Invalid or expired requestState' },
      data: { reason: 'invalid_request_state' },
    });
    expect([deeds(), world.told]).toEqual([before, []]);
  });

  it('has no page in its answer where the service has none, or an approval is there already', async () => {
    for (const view of [aView(), aView({ state: 'granted' })]) {
      world.view = view;
      const waiting = call();
      await someoneWaits();
      end();
      expect(textOf((await waiting).body.result)).toMatch(/^booked/);
    }
  });
});

describe('the page of a held call', () => {
  it.each<[string, object]>([
    ['declares nothing', {}],
    ['shows forms alone', { elicitation: { form: {} } }],
    ['declares elicitation without a mode', { elicitation: {} }],
  ])('is no question to a client that %s [DENIAL-020]', async (_case, capabilities) => {
    const waiting = call({}, { capabilities });
    await someoneWaits();
    end();
    expect((await waiting).body.result).toMatchObject({ resultType: 'complete', isError: false });
  });

  it('is no question to a client with tasks, which gets its task', async () => {
    const { result } = (await call({}, { capabilities: { ...URLS, ...TASKS } })).body;
    expect(result).toMatchObject({ resultType: 'task', taskId: TASK_ID });
  });

  it('is no question of the tools of the gateway, which answer in words', async () => {
    const access = { name: 'request_access', arguments: { tool: 'bank__transfer', arguments: transfer().arguments } };
    const status = { name: 'get_request_status', arguments: { reference: REQUEST_REF } };
    for (const asked of [access, status]) {
      const { result } = (await send(hasty, 'tools/call', asked, { capabilities: URLS })).body;
      expect(result).toMatchObject({ resultType: 'complete' });
      expect(textOf(result)).toContain(PAGE);
    }
  });

  it('reaches the official client as an address to open, whose answer does not stop the call', async () => {
    const versionNegotiation = { mode: { pin: REVISION } };
    const client = new Client({ name: 'official', version: '0' }, { capabilities: URLS, versionNegotiation });
    const asked: unknown[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params);
      return { action: 'decline' };
    });
    const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), { requestInit }));
    const waiting = client.callTool(transfer());
    await someoneWaits();
    end();
    expect(textOf((await waiting) as never)).toMatch(/^booked\nThe tool ran once/);
    expect(asked).toEqual([expect.objectContaining({ mode: 'url', url: PAGE })]);
    expect(world.openings).toHaveLength(1);
    await client.close();
  });
});
