import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { TASK_ID } from '../../support/gateway-world.ts';
import { ACCEPTS, requestOf, send, transfer, type Sent } from '../../support/gateway-wire.ts';

let gateway!: GatewayUnderTest;
beforeAll(async () => {
  gateway = new GatewayUnderTest();
  await gateway.start();
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const TASK = { taskId: TASK_ID };
/** Every method that needs a name in the header, with that name, and some methods without one. */
const METHODS: readonly (readonly [method: string, params: Record<string, unknown>, named?: string])[] = [
  ['tools/call', transfer(), 'bank__transfer'],
  ['prompts/get', { name: 'greeting' }, 'greeting'],
  ['resources/read', { uri: 'file:///a' }, 'file:///a'],
  ['tasks/get', TASK, TASK_ID],
  ['tasks/update', { ...TASK, inputResponses: {} }, TASK_ID],
  ['tasks/cancel', TASK, TASK_ID],
  ['tools/list', {}],
  ['server/discover', {}],
];
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
/** Possible values of the header. Two equal values become one different value, because it is unknown which one counts. */
const HEADERS: readonly (readonly [what: string, values: (named: string) => readonly string[], agrees: boolean])[] = [
  ['equal', (named) => [named], true],
  ['equal, encoded', (named) => [encoded(named)], true],
  ['different', () => ['other'], false],
  ['different, encoded', () => [encoded('other')], false],
  ['different in case', (named) => [named.toUpperCase()], false],
  ['empty', () => [''], false],
  ['encoded wrongly', () => ['=?base64?!?='], false],
  ['repeated, and equal', (named) => [named, named], false],
  ['repeated, with the second different', (named) => [named, 'other'], false],
  ['repeated, with the first different', (named) => ['other', named], false],
];

/** Sends the request with the header once for each value. */
async function sendNamed(
  [method, params]: (typeof METHODS)[number],
  values: readonly string[],
  token?: string,
): Promise<Pick<Sent, 'status' | 'body'>> {
  const { body, headers } = requestOf(method, params, { token });
  const others = Object.entries({ ...ACCEPTS, ...headers }).filter(([name]) => name !== 'mcp-name');
  const raw = [...others, ...values.map((value) => ['mcp-name', value] as const)].flat();
  const answer = await request(gateway.mcpUrl, { method: 'POST', headers: raw, body });
  return { status: answer.statusCode, body: (await answer.body.json()) as Sent['body'] };
}
const MISMATCH = [400, -32_020];
const of = ({ status, body }: Pick<Sent, 'status' | 'body'>) => [status, body.error?.code];

describe.each(METHODS)('the name header of %s', (...of_) => {
  const [method, params, named] = of_;
  /** The answer when header and body agree. */
  const agreed = async () => (await send(gateway, method, params)).body;

  it.each(HEADERS)('is checked when it is %s', async (_what, values, agrees) => {
    const answer = await sendNamed(of_, values(named ?? 'anything'));
    if (agrees || named === undefined) {
      expect(of(answer)).not.toEqual(MISMATCH);
      expect(answer.body).toEqual(await agreed());
      return;
    }
    expect(of(answer)).toEqual(MISMATCH);
    const { evaluations, lookups, cancelled, invocations } = gateway.world;
    expect([evaluations, lookups, cancelled, invocations]).toEqual([[], [], [], []]);
  });

  it('may be missing for a task, or for a method without a name [HTTP-012]', async () => {
    const answer = await sendNamed(of_, []);
    const isDemanded = named !== undefined && !method.startsWith('tasks/');
    if (isDemanded) expect(of(answer)).toEqual(MISMATCH);
    else expect(answer.body).toEqual(await agreed());
  });
});

describe('a client that sends no name header with requests about tasks', () => {
  const told = () =>
    gateway.logged
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => /Mcp-Name/.test(String(msg)));

  it('is logged once with its client id, and cannot reach the tasks of others', async () => {
    const fresh = new GatewayUnderTest();
    await fresh.start();
    const before = gateway;
    gateway = fresh;
    try {
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
        for (const token of ['token-of-alice', 'token-of-mallory'])
          await sendNamed([method, { ...TASK, inputResponses: {} }, TASK_ID], [], token);
      expect(told()).toMatchObject([{ level: 30, clientId: 'agent-7', method: 'tasks/get' }]);
      expect(gateway.logged.join('')).not.toContain(TASK_ID);
      const foreign = await sendNamed(['tasks/get', TASK], [], 'token-of-mallory');
      expect(foreign.body).toEqual((await sendNamed(['tasks/get', { taskId: 'tsk_unknown' }], [])).body);
    } finally {
      gateway = before;
      await fresh.stop();
    }
  });

  it('gets a parameter error for an invalid task id', async () => {
    for (const taskId of [undefined, 5, {}, '', 'x'.repeat(4_097)]) {
      const answer = await sendNamed(['tasks/get', { taskId }], []);
      expect(answer.body.error?.code).toBe(-32_602);
    }
  });
});
