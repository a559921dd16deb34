import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { REQUESTABLE, startRealGateway } from '../../support/real-gateway.ts';
import { waitFor } from '../../support/wait-for.ts';

const EVERYTHING = packagePath('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js');
const LISTING = packagePath('test', 'clients', 'fixtures', 'listing-server.mjs');
const everything = { command: process.execPath, args: [EVERYTHING, 'stdio'] };
const listing = { command: process.execPath, args: [LISTING, JSON.stringify({ resources: ['x://1'] })] };
const TEMPLATE = 'demo://resource/dynamic/text/{resourceId}';
const GUIDE = 'demo://resource/static/document/features.md';

let real: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  real = await startRealGateway({ maxOpenPerCaller: 100 }, { mcpServers: { every: everything, list: listing } });
});
afterAll(() => real.stop());
beforeEach(() => {
  real.authority.seen.length = 0;
  real.authority.decide = () => ({ decision: true });
});

const bearer = async () => ({
  requestInit: { headers: { authorization: `Bearer ${await real.authority.token({ aud: real.mcpUrl })}` } },
});
const questions = () =>
  real.authority.seen.filter(({ path }) => path === '/access/v1/evaluation').map(({ body }) => JSON.parse(body));

async function presentClient() {
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(real.mcpUrl), await bearer()));
  return client;
}

async function earlierClient() {
  const client = new EarlierClient({ name: 'earlier', version: '0' });
  const transport = new EarlierTransport(new URL(real.mcpUrl), await bearer());
  await client.connect(transport);
  return client;
}

describe.each([
  ['the present revision', presentClient],
  ['an earlier revision', earlierClient],
])('a client of %s', (_, connect) => {
  let client: Client;
  beforeAll(async () => {
    client = (await connect()) as Client;
  });
  afterAll(() => client.close());

  it('is told that there may be prompts, resources and completions', () => {
    expect(client.getServerCapabilities()).toMatchObject({ prompts: {}, resources: {}, completions: {} });
  });

  it('lists prompts under their prefix, and gets one', async () => {
    const { prompts } = await client.listPrompts();
    const names = prompts.map(({ name }) => name).filter((name) => name.startsWith('every__'));
    expect(names).toEqual([
      'every__args-prompt',
      'every__completable-prompt',
      'every__resource-prompt',
      'every__simple-prompt',
    ]);
    const { messages } = await client.getPrompt({ name: 'every__args-prompt', arguments: { city: 'Oslo' } });
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: "What's weather in Oslo?" } }]);
  });

  it('lists resources and templates under their own addresses, and reads one of each', async () => {
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain(GUIDE);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(TEMPLATE);
    expect((await client.readResource({ uri: GUIDE })).contents).toMatchObject([
      { uri: GUIDE, mimeType: 'text/markdown' },
    ]);
    const uri = 'demo://resource/dynamic/text/7';
    expect((await client.readResource({ uri })).contents).toMatchObject([
      { uri, text: expect.stringMatching('Resource 7') },
    ]);
  });

  it('completes arguments of prompts and of templates', async () => {
    const prompt = { type: 'ref/prompt', name: 'every__completable-prompt' } as const;
    const inPrompt = await client.complete({ ref: prompt, argument: { name: 'department', value: 'S' } });
    expect(inPrompt.completion.values).toEqual(['Sales', 'Support']);
    const template = { type: 'ref/resource', uri: TEMPLATE } as const;
    const inTemplate = await client.complete({ ref: template, argument: { name: 'resourceId', value: '7' } });
    expect(inTemplate.completion.values).toEqual(['7']);
  });
});

describe('the policy decision point', () => {
  const subject = { type: 'identity', id: 'alice' };
  const context = { agent: 'agent-7' };
  const complete = (ref: object) => ({ ref, argument: { name: 'resourceId', value: '7' } });
  const cases: [method: string, params: Record<string, unknown>, question: object][] = [
    [
      'prompts/get',
      { name: 'every__args-prompt', arguments: { city: 'Oslo' } },
      { resource: { type: 'prompt', id: 'every__args-prompt' }, context: { ...context, arguments: { city: 'Oslo' } } },
    ],
    ['resources/read', { uri: GUIDE }, { resource: { type: 'resource', id: GUIDE }, context }],
    [
      'completion/complete',
      complete({ type: 'ref/prompt', name: 'every__resource-prompt' }),
      { resource: { type: 'prompt', id: 'every__resource-prompt' }, context },
    ],
    [
      'completion/complete',
      complete({ type: 'ref/resource', uri: TEMPLATE }),
      { resource: { type: 'resource', id: TEMPLATE }, context },
    ],
  ];

  it.each(cases)('is asked once about %s (%#)', async (method, params, question) => {
    const { body } = await real.send(method, params);
    expect(body.result).toMatchObject({ resultType: 'complete' });
    expect(questions()).toEqual([{ subject, action: { name: method }, ...question }]);
  });

  it.each(cases)('decides about %s (%#): any answer but an allow causes the same refusal', async (method, params) => {
    const answers = [];
    for (const decision of [{ decision: false, context: { reason: 'canary-reason' } }, REQUESTABLE]) {
      real.authority.decide = () => decision;
      answers.push((await real.send(method, params)).text);
    }
    expect(new Set(answers).size).toBe(1);
    expect(JSON.parse(answers[0] ?? '')).toMatchObject({
      error: { code: -31_001, message: 'Policy does not allow this request.' },
    });
    expect(real.authority.submissions()).toEqual([]);
    real.authority.decide = () => 'nonsense';
    const undecided = await real.send(method, params);
    expect(undecided.body.error).toMatchObject({
      code: -32_603,
      message: expect.stringContaining('could not get an authorization decision'),
    });
    expect(undecided.text + answers.join()).not.toMatch(/canary|The tool/);
  });

  it('is not asked about an unknown item', async () => {
    for (const [method, params] of [
      ['prompts/get', { name: 'every__no-such-prompt' }],
      ['prompts/get', { name: 'args-prompt' }],
      ['resources/read', { uri: 'demo://nowhere' }],
      ['completion/complete', complete({ type: 'ref/prompt', name: 'args-prompt' })],
      ['completion/complete', complete({ type: 'ref/resource', uri: 'demo://nowhere' })],
    ] as const) {
      expect((await real.send(method, params)).body.error?.code).toBe(-32_602);
    }
    const { body } = await real.send('resources/read', { uri: 'demo://nowhere' });
    expect(body.error).toMatchObject({ message: 'Unknown resource', data: { uri: 'demo://nowhere' } });
    expect(questions()).toEqual([]);
  });
});

it('a client of the present revision hears of changes to prompts and resources', async () => {
  const changes = new Set<string>();
  const heard = (what: string) => ({ autoRefresh: false, debounceMs: 0, onChanged: () => void changes.add(what) });
  const listChanged = { prompts: heard('prompts'), resources: heard('resources') };
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: 'auto' }, listChanged });
  await client.connect(new StreamableHTTPClientTransport(new URL(real.mcpUrl), await bearer()));
  try {
    // The client subscribes some time after it has connected, so the test makes changes until it hears of them.
    await waitFor(async () => {
      await client.callTool({ name: 'list__grow', arguments: {} });
      return changes.size === 2;
    });
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('list__x://grown');
  } finally {
    await client.close();
  }
});

it('lists and contents are private and may not be cached, even if their upstream allows it [CACHE-001]', async () => {
  const fresh = { resultType: 'complete', cacheScope: 'private', ttlMs: 0 };
  for (const method of ['prompts/list', 'resources/list', 'resources/templates/list']) {
    expect((await real.send(method, {})).body.result).toMatchObject(fresh);
  }
  const read = await real.send('resources/read', { uri: 'x://1' });
  expect(read.body.result).toMatchObject({ ...fresh, contents: [{ uri: 'x://1', text: 'read', beyond: true }] });
});

it('a long list has pages with one cache scope, and lists each item once [CACHE-002]', async () => {
  const names = (start: string) => Array.from({ length: 1_001 }, (_, n) => `${start}${n}`);
  const lists = { prompts: names('p'), resources: names('x://'), templates: names('y://{a}') };
  const large = { command: process.execPath, args: [LISTING, JSON.stringify(lists)] };
  const many = await startRealGateway({}, { mcpServers: { list: large } });
  try {
    for (const [method, member] of [
      ['prompts/list', 'prompts'],
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
    ] as const) {
      const page = async (cursor: Record<string, unknown>) => (await many.send(method, cursor)).body.result ?? {};
      const first = await waitFor(async () => {
        const result = await page({});
        return result['nextCursor'] === undefined ? undefined : result;
      });
      const second = await page({ cursor: first['nextCursor'] });
      const listed = [first, second].flatMap((result) => result[member] as { name: string }[]);
      const all = listed.filter(({ name }) => name !== 'held-call');
      expect([first['cacheScope'], second['cacheScope'], second['nextCursor']]).toEqual([
        'private',
        'private',
        undefined,
      ]);
      expect(new Set(all.map(({ name }) => name)).size).toBe(1_001);
      expect(all).toHaveLength(1_001);
    }
  } finally {
    await many.stop();
  }
});

it('an unknown cursor is refused, and an empty one starts at the beginning [CACHE-010]', async () => {
  for (const method of ['prompts/list', 'resources/list', 'resources/templates/list']) {
    expect((await real.send(method, { cursor: 'made up' })).body.error?.code).toBe(-32_602);
    expect((await real.send(method, { cursor: '' })).body.result).toMatchObject({ resultType: 'complete' });
  }
});
