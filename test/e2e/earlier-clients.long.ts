import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  approvedEnd,
  connectEarlier,
  EARLIER_REVISIONS,
  nextStepOf,
  STEP_BY_STEP,
  wordsOf,
  type CallTool,
} from '../support/foreign-clients.ts';
import { heldCalls } from '../support/held-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { EVERYTHING } from '../support/stack-config.ts';
import { waitFor } from '../support/wait-for.ts';

let stack!: Stack;
const { writes } = heldCalls(() => stack);
beforeAll(async () => {
  // These clients take each step by themselves: test/support/waiting-clients.ts has those whose calls wait.
  const config = { gateway: STEP_BY_STEP };
  stack = await startStack({ parts: 'together', servers: 'shared', config, mcpServers: { everything: EVERYTHING } });
});
afterAll(() => stack?.stop());

describe.each(EARLIER_REVISIONS)('the official earlier client in the revision %s', (revision) => {
  let connected!: Awaited<ReturnType<typeof connectEarlier>>;
  const callTool: CallTool = (call) => connected.client.callTool(call);
  beforeAll(async () => {
    connected = await connectEarlier(stack, revision);
  });
  afterAll(() => connected?.client.close());

  it('agrees on that revision, and learns its capabilities in it', () => {
    const { client, agreed } = connected;
    expect(agreed()).toBe(revision);
    expect(client.getServerVersion()).toMatchObject({ name: 'countersign' });
    // The first revision has no sessions over HTTP, and so no stream of changes.
    const listed = revision === '2024-11-05' ? {} : { listChanged: true };
    expect(client.getServerCapabilities()).toMatchObject({
      tools: listed,
      prompts: listed,
      resources: listed,
      completions: {},
      logging: {},
    });
    expect(client.getInstructions()).toMatch(/request_access.*get_request_status/);
    expect(client.getInstructions()).not.toMatch(/tasks/);
  });

  it('lists and reads the items of upstreams', async () => {
    const { client } = connected;
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    const expected = ['files__write_file', 'everything__echo', 'request_access', 'get_request_status'];
    await waitFor(async () => (await names()).includes('everything__echo'));
    expect(await names()).toEqual(expect.arrayContaining(expected));
    const prompts = (await client.listPrompts()).prompts.map(({ name }) => name);
    expect(prompts).toContain('everything__simple-prompt');
    const { messages } = await client.getPrompt({ name: 'everything__simple-prompt' });
    expect(messages).toMatchObject([{ role: 'user', content: { type: 'text' } }]);
    const [resource] = (await client.listResources()).resources;
    const { contents } = await client.readResource({ uri: resource?.uri ?? '' });
    expect(contents).toMatchObject([{ uri: resource?.uri }]);
    expect((await client.listResourceTemplates()).resourceTemplates).not.toEqual([]);
  });

  it('gets the result of an allowed call, and learns which call is refused for good', async () => {
    const path = join(stack.files, `${revision}.read`);
    writeFileSync(path, 'Grüße');
    const read = await callTool({ name: 'files__read_text_file', arguments: { path } });
    expect([read.isError ?? false, wordsOf(read)]).toEqual([false, 'Grüße']);
    const refused = await callTool({ name: 'files__move_file', arguments: { source: path, destination: `${path}2` } });
    expect([refused.isError, wordsOf(refused)]).toEqual([true, expect.stringMatching(/did not run.*no approval/)]);
    expect(nextStepOf(refused)).toEqual({});
  });

  it('learns the next step of a call that needs an approval, and reaches the real result', async () => {
    const path = join(stack.files, `${revision}.written`);
    const call = { name: 'files__write_file', arguments: { path, content: revision } };
    const held = await callTool(call);
    expect([held.isError, wordsOf(held)]).toEqual([true, expect.stringMatching(/did not run.*request_access/)]);
    const step = nextStepOf(held);
    const requested = await callTool({ name: step.tool, arguments: { tool: call.name, arguments: call.arguments } });
    expect([requested.isError ?? false, nextStepOf(requested).tool]).toEqual([false, step.statusTool]);
    expect(writes(path)).toBe(0);
    const end = await approvedEnd(stack, callTool, requested);
    expect([end.isError, wordsOf(end)]).toEqual([
      false,
      expect.stringMatching(/Successfully wrote.*\nThe tool ran once/),
    ]);
    expect([writes(path), readFileSync(path, 'utf8')]).toEqual([1, revision]);
  });
});
