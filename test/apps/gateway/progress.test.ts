import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { parseBodiesInThisRealm } from '../../support/own-realm-fetch.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { waitFor } from '../../support/wait-for.ts';

let real: Awaited<ReturnType<typeof startRealGateway>>;
const restoreFetch = parseBodiesInThisRealm();
beforeAll(async () => {
  real = await startRealGateway({ maxOpenPerCaller: 100 });
});
afterAll(async () => {
  restoreFetch();
  await real.stop();
});
beforeEach(() => {
  real.authority.decide = () => ({ decision: true });
});

const steps = { name: 'files__steps', arguments: {} };
const THREE = [1, 2, 3].map((progress) => ({ progress, total: 3 }));
const requestInit = async () => ({
  headers: { authorization: `Bearer ${await real.authority.token({ aud: real.mcpUrl })}` },
});

describe('what a tool says of its progress', () => {
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

  it('is sent under the token that the client chose, and to nobody who chose none', async () => {
    const asked = await real.send('tools/call', { ...steps, _meta: { progressToken: 'mine' } });
    expect(asked.text.match(/"progressToken":"mine"/g)).toHaveLength(3);
    const unasked = await real.send('tools/call', steps);
    expect(unasked.text).not.toContain('progress');
  });
});

it('a client that goes takes its call back from the tool', async () => {
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
