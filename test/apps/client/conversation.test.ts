import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Conversation, type ListedTool, type ModelRequest, type ToolServer } from '../../../apps/client/index.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { requestable } from '../../support/gateway-world.ts';
import { aTool } from '../../support/tools.ts';

const inputSchema = { type: 'object', properties: { query: { type: 'string' } } } as const;
const reading = { inputSchema, _meta: { 'mcp.dev/effect': 'read' } } as const;
const PREPROCESSOR = { ...reading, preprocessor: true } as const;

type Answer = (call: { name: string; arguments: Record<string, unknown> }, signal: AbortSignal) => Promise<unknown>;
const texts = (text: string) => ({ content: [{ type: 'text', text }] });

/** A server with these tools, and a model that keeps its input. */
function conversationWith(tools: readonly ListedTool[], callTool: Answer, timeoutMs?: number) {
  const requests: ModelRequest<ListedTool>[] = [];
  const server: ToolServer<ListedTool> = { listTools: async () => tools, callTool };
  const conversation = new Conversation(server, {
    argumentsFor: (_tool, prompt) => ({ query: prompt }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const turn = (prompt: string) =>
    conversation.turn(prompt, async (request) => {
      requests.push(request);
      return `re: ${request.prompt}`;
    });
  return { conversation, turn, requests };
}

describe('a conversation', () => {
  const two = [{ name: 'first', preprocessor: true }, { name: 'tool' }, { name: 'second', preprocessor: true }];

  it('runs every preprocessor before each prompt, and gives the model their results in the order of the list [PRE-002, PRE-005, PRE-012]', async () => {
    const calls: unknown[] = [];
    let letFirst: (() => void) | undefined;
    const { turn, requests } = conversationWith(two, async (call) => {
      calls.push(call);
      if (call.name === 'first') await new Promise<void>((resolve) => (letFirst = resolve));
      else letFirst?.();
      return texts(call.name);
    });
    await turn('one');
    await turn('two');
    const call = (name: string, query: string) => ({ name, arguments: { query } });
    expect(calls).toEqual([call('first', 'one'), call('second', 'one'), call('first', 'two'), call('second', 'two')]);
    expect(requests.map(({ context }) => context.map(({ tool }) => tool))).toEqual([
      ['first', 'second'],
      ['first', 'second'],
    ]);
    expect(requests[0]?.context[0]?.content).toEqual(texts('first').content);
  });

  it('keeps the results out of the history, and the preprocessors out of the tools [PRE-003, PRE-004]', async () => {
    const { turn, requests } = conversationWith(two, async () => texts('canary'));
    await turn('one');
    await turn('two');
    expect(requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['tool'], ['tool']]);
    expect(requests[1]?.history).toEqual([
      { role: 'user', text: 'one' },
      { role: 'assistant', text: 're: one' },
    ]);
    expect(JSON.stringify(requests.map(({ history, tools }) => [history, tools]))).not.toContain('canary');
  });

  it('continues without the results of a failed preprocessor', async () => {
    const never = new Promise<never>(() => undefined);
    for (const answer of [
      () => Promise.reject(new Error('away')),
      async () => ({ ...texts('canary'), isError: true }),
      async () => ({ resultType: 'task', taskId: 'tsk_1', content: [] }),
      async () => ({}),
      () => never,
    ]) {
      const { conversation, turn, requests } = conversationWith(two.slice(0, 2), answer, 50);
      expect(await turn('one')).toBe('re: one');
      expect(requests[0]?.context).toEqual([]);
      expect(conversation.latency().get('first')).toMatchObject({ runs: 1, failures: 1 });
    }
  });

  it('keeps its history unchanged when the model fails', async () => {
    const { conversation, turn, requests } = conversationWith([], async () => texts('x'));
    await expect(conversation.turn('one', () => Promise.reject(new Error('model')))).rejects.toThrow('model');
    await turn('two');
    expect(requests[0]?.history).toEqual([]);
  });

  it('measures the time of each preprocessor [PRE-011]', async () => {
    const { conversation, turn } = conversationWith(two, async () => texts('x'));
    for (let i = 0; i < 20; i += 1) await turn('again');
    const { runs, failures, p50Ms, p99Ms } = conversation.latency().get('first') ?? { p50Ms: 0, p99Ms: 0 };
    expect([runs, failures]).toEqual([20, 0]);
    expect(p50Ms).toBeGreaterThan(0);
    expect(p99Ms).toBeGreaterThanOrEqual(p50Ms);
    expect([...conversation.latency().keys()]).toEqual(['first', 'second']);
  });
});

describe('a conversation through the gateway, on the official client', () => {
  const gateway = new GatewayUnderTest({ requestTools: false });
  const { world } = gateway;
  let client: Client;
  beforeAll(async () => {
    await gateway.start();
    client = new Client({ name: 'host', version: '0' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), { requestInit }));
  });
  afterAll(async () => {
    await client.close();
    await gateway.stop();
  });
  beforeEach(() => gateway.reset());

  const through = () => {
    const server = {
      listTools: async () => (await client.listTools()).tools,
      callTool: (call: { name: string; arguments: Record<string, unknown> }, signal: AbortSignal) =>
        client.callTool(call, { signal }),
    };
    return new Conversation(server, { argumentsFor: (_tool, query) => ({ query }), timeoutMs: 60_000 });
  };

  it('finds a preprocessor although that client drops its flag, and runs it for each prompt [PRE-007]', async () => {
    world.listed = [aTool({ name: 'recall', ...PREPROCESSOR }), aTool({ name: 'look', ...reading })];
    const requests: ModelRequest<{ name: string }>[] = [];
    const conversation = through();
    await conversation.turn('what did I say?', async (request) => {
      requests.push(request);
      return 'nothing';
    });
    expect(world.invocations).toMatchObject([
      { upstream: 'bank', upstreamTool: 'recall', arguments: { query: 'what did I say?' } },
    ]);
    expect(requests[0]).toMatchObject({
      context: [{ tool: 'bank__recall', content: [{ type: 'text', text: 'booked' }] }],
      tools: [{ name: 'bank__look' }],
    });
    expect(conversation.latency().get('bank__recall')?.runs).toBe(1);
  });

  it('continues without a preprocessor that needs an approval', async () => {
    world.listed = [aTool({ name: 'recall', ...PREPROCESSOR })];
    world.decision = requestable();
    const contexts: unknown[] = [];
    await through().turn('x', async ({ context }) => String(contexts.push(context)));
    expect([contexts, world.openings]).toEqual([[[]], []]);
  });
});
