import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connectEarlier, EARLIER_REVISIONS, wordsOf } from '../support/foreign-clients.ts';
import { heldCalls } from '../support/held-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

let stack!: Stack;
const { approve, writes } = heldCalls(() => stack);
beforeAll(async () => {
  stack = await startStack({ parts: 'together', servers: 'shared', config: { gateway: { waitSeconds: 45 } } });
});
afterAll(() => stack?.stop());

const write = (path: string) => ({ name: 'files__write_file', arguments: { path, content: 'hello' } });

it.each(EARLIER_REVISIONS)(
  'a client of the revision %s waits for the approval and gets the result of its tool',
  async (revision) => {
    const { client } = await connectEarlier(stack, revision);
    const path = join(stack.files, `waited-${revision}.txt`);
    const answer = client.callTool(write(path));
    const [request] = await stack.openRequests(1);
    expect(writes(path)).toBe(0);
    if (request !== undefined) await approve(request);
    const result = await answer;
    expect(wordsOf(result)).toMatch(/Successfully wrote.*\nThe tool ran once/s);
    expect(result._meta).toMatchObject({ 'io.modelcontextprotocol/tool-approval-disposition': 'approved-executed' });
    expect(writes(path)).toBe(1);
    await client.close();
  },
);

it('a client without tasks requests the approval with one tool, and follows it with the other', async () => {
  const { client } = await connectEarlier(stack, '2025-11-25');
  const path = join(stack.files, 'asked.txt');
  const { name: tool, arguments: args } = write(path);
  const asked = wordsOf(await client.callTool({ name: 'request_access', arguments: { tool, arguments: args } }));
  const reference = /req_[0-9a-f]{32}/.exec(asked)?.[0];
  const status = async () => wordsOf(await client.callTool({ name: 'get_request_status', arguments: { reference } }));
  expect(await status()).toMatch(/has not run/);
  const [request] = await stack.openRequests(1);
  if (request !== undefined) await approve(request);
  const ended = await waitFor(async () => /The tool ran once/.exec(await status())?.input);
  expect(ended).toMatch(/Successfully wrote/);
  expect(writes(path)).toBe(1);
  await client.close();
});
