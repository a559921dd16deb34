import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, Server, type CallToolResult } from '@modelcontextprotocol/server';
import { answersTo, kindOfAnswer, repetitionOf, type Asking, type Question } from '../../../apps/client/index.ts';

const asking = (message: string): Question => ({ method: 'elicitation/create', params: { message } });
const accepted = (text: string) => ({ action: 'accept', content: { text } });
const answer = async ({ params }: Question) => accepted((params as { message: string }).message);

describe('questions', () => {
  it('are answered by key, one after the other, and independently of each other [TASK-041, TASK-113]', async () => {
    const seen: unknown[] = [];
    let isBusy = false;
    const answers = await answersTo({ first: asking('one'), second: asking('two') }, async (...given) => {
      expect(isBusy).toBe(false);
      isBusy = true;
      seen.push(given);
      await Promise.resolve();
      isBusy = false;
      return answer(given[0]);
    });
    expect(answers).toEqual({ first: accepted('one'), second: accepted('two') });
    // The answering function gets only the question, not its source.
    expect(seen).toEqual([[asking('one')], [asking('two')]]);
  });

  it('of a task are answered once, however often the task shows them [TASK-042]', async () => {
    const answered = new Set<string>();
    const [one, two] = [asking('one'), asking('two')];
    expect(await answersTo({ one }, answer, answered)).toEqual({ one: accepted('one') });
    expect(await answersTo({ one, two }, answer, answered)).toEqual({ two: accepted('two') });
    const fails = () => Promise.reject(new Error('no user'));
    await expect(answersTo({ three: one }, fails, answered)).rejects.toThrow('no user');
    expect(await answersTo({ one, two, three: one }, answer, answered)).toEqual({ three: accepted('one') });
  });
});

describe('a repetition', () => {
  const params = { name: 'pay', arguments: { amount: 5 }, _meta: { progressToken: 1 } };

  it("has the answers and the server's state unchanged, and no state where the server sent none [MRTR-015, MRTR-016]", async () => {
    const state = ' {"opaque": "\\u0000 as it is"} ';
    const inputRequests = { why: asking('why') };
    const inputResponses = { why: accepted('why') };
    expect(await repetitionOf(params, { inputRequests, requestState: state }, answer)).toEqual({
      ...params,
      inputResponses,
      requestState: state,
    });
    expect(await repetitionOf(params, { inputRequests }, answer)).toEqual({ ...params, inputResponses });
    expect(await repetitionOf(params, { requestState: '' }, answer)).toEqual({ ...params, requestState: '' });
  });

  it('has no answers or state of an earlier repetition or of another request [MRTR-018]', async () => {
    const first = await repetitionOf(params, { inputRequests: { a: asking('a') }, requestState: 's1' }, answer);
    expect(await repetitionOf(first, { inputRequests: { b: asking('b') } }, answer)).toEqual({
      ...params,
      inputResponses: { b: accepted('b') },
    });
    const others = { ...params, name: 'look' };
    const both = await Promise.all([
      repetitionOf(params, { inputRequests: { a: asking('mine') }, requestState: 's1' }, answer),
      repetitionOf(others, { inputRequests: { a: asking('theirs') } }, answer),
    ]);
    expect(both[1]).toEqual({ ...others, inputResponses: { a: accepted('theirs') } });
    expect(params).not.toHaveProperty('inputResponses');
  });
});

describe('a repetition on the official client, against the official server', () => {
  const ids: unknown[] = [];
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'asks', version: '0' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/call', (_request, { mcpReq }) => {
      ids.push(mcpReq.id);
      const { inputResponses } = mcpReq;
      const given = JSON.stringify(inputResponses ?? {});
      if (inputResponses !== undefined) return { content: [{ type: 'text', text: given }] };
      const params = { message: 'why', requestedSchema: { type: 'object', properties: {} } };
      const inputRequests = { why: { method: 'elicitation/create', params } };
      return { resultType: 'input_required', inputRequests } as unknown as CallToolResult;
    });
    return server;
  });
  const client = new Client(
    { name: 'repeats', version: '0' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  beforeAll(() =>
    client.connect(
      new StreamableHTTPClientTransport(new URL('http://asks.test/mcp'), {
        fetch: (url, init) => handler.fetch(new Request(url, init)),
      }),
    ),
  );
  afterAll(async () => {
    await client.close();
    await handler.close();
  });

  it('is a separate request with its own id [MRTR-015, MRTR-017]', async () => {
    const asIs = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const;
    const call = (params: object) =>
      client.request({ method: 'tools/call', params } as never, asIs, { allowInputRequired: true }) as Promise<object>;
    const params = { name: 'ask', arguments: {} };
    const first = await call(params);
    expect(kindOfAnswer('tools/call', first)).toBe('input_required');
    const second = await call(await repetitionOf(params, first as Asking, answer));
    expect(second).toMatchObject({ content: [{ text: JSON.stringify({ why: accepted('why') }) }] });
    expect(new Set(ids).size).toBe(2);
  });
});
