import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createParser } from 'eventsource-parser';
import { startRealGateway } from '../../support/real-gateway.ts';
import { subscribe, type Message } from '../../support/subscriber.ts';
import { waitFor } from '../../support/wait-for.ts';

let real: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  real = await startRealGateway({ maxOpenPerCaller: 100 });
});
afterAll(() => real.stop());
beforeEach(() => {
  real.authority.decide = () => ({ decision: true });
});

const steps = { name: 'files__steps', arguments: {} };
const THREE = [1, 2, 3].map((progress) => ({ progress, total: 3 }));
const requestInit = async () => ({
  headers: { authorization: `Bearer ${await real.authority.token({ aud: real.mcpUrl })}` },
});

describe('the progress of a tool', () => {
  it('reaches a client of the present revision', async () => {
    const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: 'auto' } });
    const options = { requestInit: await requestInit() };
    await client.connect(new StreamableHTTPClientTransport(new URL(real.mcpUrl), options));
    try {
      const seen: unknown[] = [];
      await client.callTool(steps, { onprogress: (progress) => void seen.push(progress) });
      expect(client.getProtocolEra()).toBe('modern');
      expect(seen).toEqual(THREE);
    } finally {
      await client.close();
    }
  });

  it('reaches a client of an earlier revision', async () => {
    const client = new EarlierClient({ name: 'earlier', version: '0' });
    await client.connect(new EarlierTransport(new URL(real.mcpUrl), { requestInit: await requestInit() }));
    try {
      const seen: unknown[] = [];
      await client.callTool(steps, undefined, { onprogress: (progress) => void seen.push(progress) });
      expect(seen).toEqual(THREE);
    } finally {
      await client.close();
    }
  });

  it('is sent under the token that the client chose, and only to clients that chose one', async () => {
    const asked = await real.send('tools/call', { ...steps, _meta: { progressToken: 'mine' } });
    expect(asked.text.match(/"progressToken":"mine"/g)).toHaveLength(3);
    const unasked = await real.send('tools/call', steps);
    expect(unasked.text).not.toContain('progress');
  });
});

describe('a tool that writes logs and asks its client', () => {
  const PROGRESS = 'notifications/progress';
  const chatter = (meta: object) =>
    real.send('tools/call', { name: 'files__chatter', arguments: {}, _meta: { progressToken: 'mine', ...meta } });
  const messagesIn = (text: string) => {
    const messages: Message[] = [];
    createParser({ onEvent: ({ data }) => messages.push(JSON.parse(data) as Message) }).feed(text);
    return messages;
  };

  it.each([[{}], [{ 'io.modelcontextprotocol/logLevel': 'debug' }]])(
    'is answered by the gateway, and its caller gets progress and the result [STATELESS-013, STATELESS-014, HTTP-021, ASSOC-002]',
    async (meta) => {
      const messages = messagesIn((await chatter(meta)).text);
      expect(messages.map(({ method, id }) => [method, id])).toEqual([
        [PROGRESS, undefined],
        [undefined, 'r-1'],
      ]);
      // All its requests were refused before it answered.
      expect(messages[1]?.result).toMatchObject({ content: [{ text: '[-32601,-32601,-32601]' }] });
    },
  );

  it('does not appear on streams of subscriptions, for any filter [LISTEN-008, TASK-075, STATELESS-014, ASSOC-002]', async () => {
    real.reset();
    const { body } = await real.send('tools/call', { name: 'files__pid', arguments: {} });
    const taskId = String(body.result?.['taskId']);
    real.authority.decide = () => ({ decision: true });
    const token = await real.authority.token({ aud: real.mcpUrl });
    const subscriber = await subscribe(real, { taskIds: [taskId], toolsListChanged: true }, { token });
    try {
      await subscriber.shown('working');
      expect((await chatter({})).text).toContain(PROGRESS);
      await real.send('tasks/cancel', { taskId });
      await subscriber.shown('cancelled');
      const told = subscriber.messages.map(({ method }) => method);
      expect(told).toEqual(['notifications/subscriptions/acknowledged', 'notifications/tasks', 'notifications/tasks']);
    } finally {
      subscriber.leave();
    }
  });
});

it('a client that disconnects cancels its call at the tool', async () => {
  const seen = async () => {
    const { body } = await real.send('tools/call', { name: 'files__cancelled', arguments: {} });
    const [said] = body.result?.['content'] as { text: string }[];
    return JSON.parse(said?.text ?? '') as { hung: number; cancelled: number };
  };
  const before = await seen();
  const client = new AbortController();
  const answer = real.send('tools/call', { name: 'files__hang', arguments: {} }, undefined, client.signal);
  answer.catch(() => undefined);
  await waitFor(async () => (await seen()).hung === before.hung + 1);
  client.abort();
  await expect(answer).rejects.toThrow(/abort/);
  await waitFor(async () => (await seen()).cancelled === before.cancelled + 1);
});
