import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { startChangingUpstream, type Description } from '../support/changing-upstream.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { PATIENT_LIMITS } from '../support/time.ts';
import { openUpstreams } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

/** After so long, a list that may have changed is read again. */
const GATHERED_MS = 50;
const never = () => new AbortController().signal;
const PAY: Description = {
  description: 'Pays.',
  annotations: {},
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    amount: { type: 'integer', 'x-mcp-header': 'Amount' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    text: { type: 'string' },
  },
};

let bank: Awaited<ReturnType<typeof startChangingUpstream>>;
let pool: UpstreamPool;
/** The lists of the upstream are good for a second by this clock, which only a test moves. */
let clock: ManualClock;
beforeEach(async () => {
  clock = new ManualClock();
  bank = await startChangingUpstream(PAY);
  pool = openUpstreams({ bank: { url: bank.url } }, undefined, {}, { clock, limits: PATIENT_LIMITS });
});
afterEach(async () => {
  await pool.close();
  await bank.close();
});

const digest = async () => (await pool.find('bank__pay'))?.digest ?? 'unknown';
const pay = (args: Record<string, string | number | boolean>, toolDigest?: string) =>
  pool.call(
    { upstream: 'bank', upstreamTool: 'pay', arguments: args, ...(toolDigest !== undefined && { toolDigest }) },
    { signal: never() },
  );
/** The upstream's input of the last call. */
const mirrored = () =>
  Object.fromEntries(Object.entries(bank.headers.at(-1) ?? {}).filter(([name]) => name.startsWith('mcp-param-')));

describe('arguments that an upstream wants in headers', () => {
  it('are sent as its own package demands', async () => {
    const args = { region: 'eu west', amount: -7, dry: false, text: 'kept' };
    expect(await pay(args, await digest())).toMatchObject({ kind: 'result', isError: false });
    expect(mirrored()).toEqual({ 'mcp-param-region': 'eu west', 'mcp-param-amount': '-7', 'mcp-param-dry': 'false' });
    expect(bank.calls).toBe(1);
  });

  it.each([
    'Hello, \u4e16\u754c',
    ' padded ',
    '\tpadded',
    'line1\nline2',
    '=?base64?literal?=',
    '',
    '=?base64?',
    'a\tb',
  ])('are encoded when a header cannot hold them: %j', async (region) => {
    expect(await pay({ region })).toMatchObject({ kind: 'result', isError: false });
    const isPlain = region === '' || region === '=?base64?' || region === 'a\tb';
    const encoded = `=?base64?${Buffer.from(region).toString('base64')}?=`;
    expect(mirrored()).toEqual({ 'mcp-param-region': isPlain ? region : encoded });
  });

  it('are the current ones: a call bound to another description is not sent', async () => {
    const bound = await digest();
    bank.cut();
    bank.described = { ...PAY, properties: { region: { type: 'string', 'x-mcp-header': 'Zone' } } };
    await pool.find('bank__pay', { live: true });
    expect(await pay({ region: 'eu' }, bound)).toEqual({ kind: 'not_sent', cause: 'ERR_CALL_BINDING_MISMATCH' });
    expect(bank.headers).toEqual([]);
  });

  it('are known for the bound description, even if another process saw the change', async () => {
    await digest();
    bank.described = { ...PAY, properties: { region: { type: 'string', 'x-mcp-header': 'Zone' } } };
    const other = openUpstreams({ bank: { url: bank.url } });
    const bound = (await other.find('bank__pay'))?.digest;
    await other.close();
    expect(await pay({ region: 'eu' }, bound)).toMatchObject({ kind: 'result', isError: false });
    expect(mirrored()).toEqual({ 'mcp-param-zone': 'eu' });
  });

  it('are read again after the upstream refused them, and the call is not repeated', async () => {
    await digest();
    bank.described = { ...PAY, properties: { region: { type: 'string', 'x-mcp-header': 'Zone' } } };
    expect(await pay({ region: 'eu' })).toMatchObject({ kind: 'error', code: -32_020 });
    expect([bank.headers.length, bank.calls]).toEqual([1, 0]);
    await clock.advance(GATHERED_MS);
    await waitFor(async () => JSON.stringify((await pool.find('bank__pay'))?.definition).includes('Zone'));
    expect(await pay({ region: 'eu' })).toMatchObject({ kind: 'result', isError: false });
  });
});

it('a tool with invalid header declarations is not offered, and the reason is known [HTTP-018]', async () => {
  bank.described = { ...PAY, properties: { amount: { type: 'number', 'x-mcp-header': 'Amount' } } };
  expect(await pool.find('bank__pay')).toBeUndefined();
  expect(await pool.tools()).toEqual([]);
  expect(pool.refused()).toEqual([
    { upstream: 'bank', name: 'bank__pay', reason: expect.stringMatching(/"Amount" at an argument that is no string/) },
  ]);
});
