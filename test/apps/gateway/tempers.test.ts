import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, REQUEST_REF, requestable } from '../../support/gateway-world.ts';
import { send, textOf, transfer } from '../../support/gateway-wire.ts';

const PAGE = 'https://approvals.test/requests/1';
const withTools = new GatewayUnderTest();
const withoutTools = new GatewayUnderTest({ requestTools: false });
beforeAll(() => Promise.all([withTools.start(), withoutTools.start()]));
afterAll(() => Promise.all([withTools.stop(), withoutTools.stop()]));
beforeEach(() => {
  for (const gateway of [withTools, withoutTools]) {
    gateway.reset();
    gateway.world.decision = requestable();
    gateway.world.view = aView({ approvalPage: PAGE });
  }
});

const EXECUTED = aView({ state: 'executed', result: JSON.stringify({ content: [{ type: 'text', text: 'booked' }] }) });
const { gatedCallId, taskId } = aView();
const OPENED = { kind: 'opened', gatedCallId, taskId } as const;
/** A model that has not ended its turn by then loops. */
const BUDGET = 30;

/** What a model has done by the end of its turn. */
interface Turn {
  readonly toolCalls: number;
  readonly told: readonly string[];
}

/** A model that decides by the words of an answer alone. `undefined`: it ends its turn. */
type Temper = (text: string, turn: { readonly toolCalls: number }) => 'call' | 'status' | 'tell and end' | undefined;

/** Does what it reads: tells its user if it is told to, asks once if it is told to, and ends its turn if it is told to. */
const obedient: Temper = (text) => {
  if (/Next step: end your turn/.test(text) || !/Next step/.test(text)) return undefined;
  if (/call get_request_status with the reference \S+ once/.test(text)) return 'status';
  return /repeat the same call once/.test(text) ? 'call' : undefined;
};
/** Does not wait: makes its call again and again, between looks at the status, until it is told in plain words to end its turn. */
const impatient: Temper = (text, { toolCalls }) => {
  if (/Next step: end your turn/.test(text) || !/Next step/.test(text)) return undefined;
  return toolCalls % 2 === 1 || !text.includes('get_request_status') ? 'call' : 'status';
};
/** Does not read on: hands the first answer to its user. */
const givingUp: Temper = () => 'tell and end';

/** Has a model make the call, and do on. `views` are the states of the call at each answer; the last one stays. */
async function turnOf(
  gateway: GatewayUnderTest,
  temper: Temper,
  views: readonly GatedCallView[] = [],
  shows: 'text' | 'structured' = 'text',
): Promise<Turn> {
  const told: string[] = [];
  let toolCalls = 0;
  gateway.world.opened = OPENED;
  let next: ReturnType<Temper> = 'call';
  while (next === 'call' || next === 'status') {
    gateway.world.view = views[Math.min(toolCalls, views.length - 1)] ?? gateway.world.view;
    if (toolCalls > 0) gateway.world.opened = { ...OPENED, kind: 'joined' };
    const params = next === 'call' ? transfer() : { name: 'get_request_status', arguments: { reference: REQUEST_REF } };
    const { result } = (await send(gateway, 'tools/call', params, { capabilities: {} })).body;
    const { 'dev.countersign/request': request } = (result?.['structuredContent'] ?? {}) as Record<
      string,
      { statusMessage: string } | undefined
    >;
    const text = shows === 'structured' && request !== undefined ? request.statusMessage : textOf(result);
    toolCalls += 1;
    if (/tell your user/.test(text)) told.push(text);
    if (toolCalls >= BUDGET) throw new Error('the model loops');
    next = temper(text, { toolCalls });
    if (next === 'tell and end') told.push(text);
  }
  return { toolCalls, told };
}

describe('a model whose call needs an approval', () => {
  const ways = [
    ['with the own tools', withTools, 'text'],
    ['in a host that shows structured results alone', withTools, 'structured'],
    ['without the own tools', withoutTools, 'text'],
  ] as const;

  it.each(ways)('that is obedient tells its user, asks once, and ends its turn, %s', async (_way, gateway, shows) => {
    const { toolCalls, told } = await turnOf(gateway, obedient, [], shows);
    expect(toolCalls).toBe(2);
    expect(told).toHaveLength(2);
    for (const text of told) expect(text).toContain(PAGE);
  });

  it.each(ways)('that is impatient ends its turn, and has told its user, %s', async (_way, gateway, shows) => {
    const { toolCalls, told } = await turnOf(gateway, impatient, [], shows);
    expect([toolCalls <= 3, told.length > 0]).toEqual([true, true]);
    expect(gateway.world.invocations).toEqual([]);
  });

  it.each(ways)('that gives up leaves its user with all they need, %s', async (_way, gateway, shows) => {
    const { toolCalls, told } = await turnOf(gateway, givingUp, [], shows);
    expect([toolCalls, told]).toEqual([1, expect.arrayContaining([expect.stringContaining(PAGE)])]);
    expect(told[0]).toMatch(/has not run/);
    expect(told[0]).toMatch(gateway === withTools ? REQUEST_REF : /repeat the same call/);
  });

  it.each(ways)('reads the result when a person approves the call meanwhile, %s', async (_way, gateway, shows) => {
    const pending = aView({ approvalPage: PAGE });
    for (const temper of [obedient, impatient]) {
      const { toolCalls, told } = await turnOf(gateway, temper, [pending, EXECUTED], shows);
      expect([toolCalls, told.length]).toEqual([2, 1]);
    }
  });

  it.each([
    ['an approval is being checked', { state: 'granted' }],
    ['the tool runs', { state: 'claimed' }],
    ['the request needs input', { state: 'input_required' }],
    ['the service has no page', {}],
  ] as const)('ends its turn while %s', async (_what, changes) => {
    for (const [, gateway] of ways)
      for (const temper of [obedient, impatient])
        expect((await turnOf(gateway, temper, [aView(changes)])).toolCalls).toBeLessThanOrEqual(3);
  });
});

describe('a call that is still held is no error for a client that raises errors', () => {
  const held = async (clientName: string) =>
    (await send(withTools, 'tools/call', transfer(), { capabilities: {}, clientName })).body.result ?? {};

  it('so that its model reads the words', async () => {
    const [raising, other] = [await held('mcp'), await held('other')];
    expect([raising['isError'], other['isError']]).toEqual([undefined, true]);
    expect(textOf(raising)).toBe(textOf(other));
    expect(textOf(raising)).toMatch(/^The tool has not run/);
  });

  it('unless its tool has an output schema, which a client would find violated', async () => {
    const outputSchema = { type: 'object', required: ['paid'] };
    withTools.world.listed = withTools.world.listed.map((tool) => ({
      ...tool,
      definition: { ...tool.definition, outputSchema },
    }));
    expect((await held('mcp'))['isError']).toBe(true);
  });
});
