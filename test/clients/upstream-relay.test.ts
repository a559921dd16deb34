import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { declaredTo, startConversingUpstream } from '../support/conversing-upstream.ts';
import { openUpstreams, untilFound } from '../support/upstreams.ts';

const CONVERSATION = {
  capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  inputResponses: { user_name: { action: 'accept', content: { name: 'Ada' } } },
  requestState: 'theirs',
};
const NOW = '2026-11-21T09:00:00Z';
const CREATED = {
  resultType: 'task',
  taskId: 't',
  status: 'working',
  createdAt: NOW,
  lastUpdatedAt: NOW,
  ttlMs: 5,
};
const ABOUT_TASK = { upstream: 'up', upstreamTaskId: 't', tool: 'up__weather', conversation: { capabilities: {} } };
const options = () => ({ signal: new AbortController().signal });
const called = (upstreamTool: string) => ({ upstream: 'up', upstreamTool, arguments: {} });
const caller = { issuer: 'https://issuer.test', subject: 'alice' };

let pool: UpstreamPool | undefined;
afterEach(() => pool?.close());

describe('an upstream of the present revision', () => {
  let upstream: Awaited<ReturnType<typeof startConversingUpstream>>;
  beforeAll(async () => void (upstream = await startConversingUpstream()));
  afterAll(() => upstream.close());
  beforeEach(() => upstream.reset());
  const connect = () => (pool = openUpstreams({ up: { url: upstream.url } }));
  const sent = () => upstream.of('tools/call')[0];

  it('is told of no input or task support by a call that needs a final result', async () => {
    const upstreams = connect();
    expect(await upstreams.call(called('slow_compute'), options())).toMatchObject({ kind: 'result', isError: false });
    expect(declaredTo(sent())).toEqual({});
    for (const result of [CREATED, { resultType: 'input_required', requestState: 'x' }]) {
      upstream.forge = ({ method }) => (method === 'tools/call' ? { result } : undefined);
      expect(await upstreams.call(called('greet'), options())).toMatchObject({ kind: 'error', code: -32_603 });
    }
  });

  it("learns the client's capabilities in a conversation, and gets the client's answers", async () => {
    upstream.forge = ({ method }) => (method === 'tools/call' ? { result: CREATED } : undefined);
    const call = { ...called('slow_compute'), conversation: CONVERSATION, meta: { own: 1 } };
    expect(await connect().relay(call, options())).toMatchObject({ kind: 'task', task: { status: 'working' } });
    const { params } = sent() ?? {};
    expect(declaredTo(sent())).toEqual(CONVERSATION.capabilities);
    expect(params).toMatchObject({
      inputResponses: CONVERSATION.inputResponses,
      requestState: 'theirs',
      _meta: { own: 1 },
    });
  });

  it("has the result of a task checked against its tool's output schema [TOOL-003]", async () => {
    const outputSchema = { type: 'object', properties: { degrees: { type: 'number' } } };
    const tools = [{ name: 'weather', inputSchema: { type: 'object' }, outputSchema }];
    const content = [{ type: 'text', text: 'It is warm.' }];
    let degrees: unknown = 21;
    upstream.forge = ({ method }) => {
      if (method === 'tools/list')
        return { result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools } };
      const result = { resultType: 'complete', content, structuredContent: { degrees } };
      const task = { ...CREATED, resultType: 'complete', status: 'completed', result };
      return method === 'tasks/get' ? { result: task } : undefined;
    };
    const upstreams = connect();
    await untilFound(upstreams, 'up__weather');
    const ask = () => upstreams.task({ ...ABOUT_TASK, caller, method: 'tasks/get' }, options());
    expect(await ask()).toMatchObject({ task: { result: { content, structuredContent: { degrees } } } });
    degrees = 'canary';
    const misfit = await ask();
    expect(misfit).toMatchObject({ task: { status: 'completed', result: { isError: true } } });
    expect(JSON.stringify(misfit)).toMatch(/It is warm.*The tool ran, but/);
    expect(JSON.stringify(misfit)).not.toMatch(/canary/);
  });

  it('is not asked about its tasks while it does not answer', async () => {
    const upstreams = openUpstreams({ up: { url: 'http://127.0.0.1:9/mcp' } });
    pool = upstreams;
    const request = { ...ABOUT_TASK, caller };
    expect(await upstreams.task({ ...request, method: 'tasks/get' }, options())).toMatchObject({ kind: 'not_sent' });
    const unknown = { ...request, upstream: 'gone', method: 'tasks/cancel' as const };
    expect(await upstreams.task(unknown, options())).toMatchObject({ kind: 'not_sent' });
  });
});

describe('an upstream of an earlier revision', () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('learns nothing of a conversation', async () => {
    const file = (path: string) => new URL(path, import.meta.url).pathname;
    const args = [file('../support/recording-upstream.mjs'), folder, file('fixtures/crashing-server.mjs')];
    const upstreams = openUpstreams({ up: { command: process.execPath, args } });
    pool = upstreams;
    await untilFound(upstreams, 'up__pid');
    const result = await upstreams.relay({ ...called('pid'), conversation: CONVERSATION }, options());
    expect(result).toMatchObject({ kind: 'result' });
    const [line = ''] = readFileSync(join(folder, 'calls.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(line)).toEqual({ at: expect.any(Number), name: 'pid', arguments: {} });
  });
});
