import { afterEach, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { openUpstreams, untilFound } from '../support/upstreams.ts';

const serving = new URL('./fixtures/serve.mjs', import.meta.url).href;
/** A server with one tool that writes this before its first message. */
const program = (junk: string) => `
  import { serve, write } from ${JSON.stringify(serving)};
  process.stdout.write(${JSON.stringify(junk)});
  const tools = [{ name: 'one', inputSchema: { type: 'object' } }];
  serve({
    name: 'junk',
    capabilities: { tools: {} },
    methods: {
      'tools/list': ({ id }) => write({ id, result: { tools } }),
      'tools/call': ({ id }) => write({ id, result: { content: [] } }),
    },
  });
`;

let pool: UpstreamPool;
afterEach(() => pool.close());

it.each([
  ['a byte order mark', '\uFEFF'],
  ['a byte order mark and a banner', '\uFEFFWelcome\r\n'],
  ['empty lines', '\n\r\n  \n'],
  ['JSON that is no message', '{"level":30,"msg":"started"}\n42\nnull\n[]\n'],
])('a program is understood that writes %s before its first message', async (_what, junk) => {
  const args = ['--input-type=module', '-e', program(junk)];
  pool = openUpstreams({ u: { command: process.execPath, args } });
  await untilFound(pool, 'u__one');
  const call = { upstream: 'u', upstreamTool: 'one', arguments: {} };
  expect(await pool.call(call, { signal: new AbortController().signal })).toMatchObject({ kind: 'result' });
});
