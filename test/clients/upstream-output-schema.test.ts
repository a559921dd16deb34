import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';
import { GatewayUnderTest } from '../support/gateway.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { PATIENT_LIMITS } from '../support/time.ts';
import { aTool } from '../support/tools.ts';
import { openUpstreams } from '../support/upstreams.ts';

/** A server that passes any result on: its own upstreams are ports of the test. */
const server = new GatewayUnderTest({ requestTools: false });
const WEATHER = { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] };
const BLOCK = { type: 'text', text: 'It is warm.' };

let pool: UpstreamPool;
let logged: string[];
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => {
  server.reset();
  logged = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  const up = { url: server.mcpUrl, headers: { authorization: 'Bearer token-of-alice' } };
  // The list of tools is good for a second, by a clock that stands still: no call reads it again.
  pool = openUpstreams({ up }, log, {}, { clock: new ManualClock(), limits: PATIENT_LIMITS });
});
afterEach(() => pool.close());

async function call(outputSchema: Json | undefined, result: JsonObject) {
  const schemas = { inputSchema: { type: 'object' }, ...(outputSchema !== undefined && { outputSchema }) };
  server.world.listed = [aTool({ name: 'weather', ...schemas }, { digest: JSON.stringify(schemas) })];
  server.world.invocation = { kind: 'result', isError: result['isError'] === true, result };
  const toolDigest = (await pool.find('up__bank__weather'))?.digest ?? 'unknown';
  // The server itself would not run a tool with an unusable output schema.
  server.world.listed = [aTool({ name: 'weather', inputSchema: { type: 'object' } })];
  const bound = { upstream: 'up', upstreamTool: 'bank__weather', toolDigest, arguments: {} };
  return pool.call(bound, { signal: new AbortController().signal });
}

describe('a structured result', () => {
  it.each<[string, Json | undefined, JsonObject]>([
    ['fits', WEATHER, { content: [BLOCK], structuredContent: { degrees: 21, more: true }, 'x-vendor': 1 }],
    ['fits, and is not an object', { type: 'array' }, { content: [], structuredContent: [1] }],
    ['was never promised', undefined, { content: [], structuredContent: { any: 'thing' } }],
    ['is missing in an error', WEATHER, { content: [BLOCK], isError: true }],
    ['fits in an error', WEATHER, { content: [], structuredContent: { degrees: 0 }, isError: true }],
  ])('that %s is passed on unchanged [TOOL-003]', async (_case, schema, result) => {
    expect(await call(schema, result)).toEqual({ kind: 'result', isError: result['isError'] === true, result });
    expect(logged).toEqual([]);
  });

  it.each<[string, Json, JsonObject]>([
    ['does not fit', WEATHER, { structuredContent: { degrees: 'canary' } }],
    ['does not fit in an error', WEATHER, { structuredContent: { degrees: 'canary' }, isError: true }],
    ['is null', WEATHER, { structuredContent: null }],
    ['is missing', WEATHER, {}],
    [
      'cannot be checked in time',
      { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
      { structuredContent: { a: `${'a'.repeat(30)}!` } },
    ],
  ])(
    'that %s is left out, and the answer is an error that says that the tool ran [TOOL-003]',
    async (_, schema, rest) => {
      const answer = await call(schema, { content: [BLOCK], 'x-vendor': 1, ...rest });
      const said = { type: 'text', text: expect.stringMatching(/^The tool ran, but .* left out/) };
      expect(answer).toEqual({
        kind: 'result',
        isError: true,
        result: { content: [BLOCK, said], 'x-vendor': 1, isError: true },
      });
      expect(logged).toEqual([expect.stringContaining('"upstreamTool":"bank__weather"')]);
      expect(logged.join('')).not.toMatch(/canary/);
    },
  );
});
