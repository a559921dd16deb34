import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { AskableClient, ClientAnswer } from '../../workflows/domain/upstream-ports.ts';
import { anAskableClient } from '../support/askable-client.ts';
import { AskingServer } from '../support/asking-server.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { PATIENT_LIMITS } from '../support/time.ts';
import { openUpstreams } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

const FORM = { method: 'elicitation/create' };
/** After so long without a request, a connection of a session is closed. */
const IDLE_MS = 5 * 60_000;
/** The connection that all share. */
const SHARED = 1;
const NEVER = new AbortController().signal;

let clock: ManualClock;
let server: AskingServer;
let pool: UpstreamPool;
let answer: () => Promise<ClientAnswer>;
beforeEach(async () => {
  clock = new ManualClock();
  server = await new AskingServer().start();
  pool = openUpstreams({ up: { url: server.url } }, undefined, {}, { clock, limits: PATIENT_LIMITS });
  answer = async () => ({ kind: 'result', result: { action: 'decline' } });
  expect(await pool.find('up__ask')).toBeDefined();
  await waitFor(() => server.listening === SHARED);
});
afterEach(async () => {
  server.release();
  await pool.close();
  await server.close();
});

const askable: AskableClient = { ...anAskableClient('session').askable, ask: () => answer() };

/** A call in the session. Answers with the text of the result, or with the kind of any other end. */
async function call(upstreamTool: string, timeoutMs?: number): Promise<string> {
  const of = { upstream: 'up', upstreamTool, arguments: FORM, conversation: { capabilities: {} } };
  const options = { signal: NEVER, askable, ...(timeoutMs !== undefined && { timeoutMs }) };
  const end = await pool.relay(of, options);
  return end.kind === 'result' ? JSON.stringify(end.result) : end.kind;
}
const isCalled = () => server.came.filter(({ method }) => method === 'tools/call').length;

it('the connection of a session closes after five minutes without a request', async () => {
  await call('ask');
  await clock.advance(IDLE_MS - 1);
  await call('ask');
  await clock.advance(IDLE_MS - 1);
  expect(server.listening).toBe(SHARED + 1);
  await clock.advance(1);
  await waitFor(() => server.listening === SHARED);
  expect(await call('ask')).toContain('decline');
});

it('the connection of a session stays for a request that takes longer, and five minutes beyond', async () => {
  const held = call('hold');
  await waitFor(() => server.holds === 1);
  await clock.advance(3 * IDLE_MS - 1);
  server.release();
  expect(await held).toContain('released');
  await clock.advance(IDLE_MS - 1);
  expect(server.listening).toBe(SHARED + 1);
  await clock.advance(1);
  await waitFor(() => server.listening === SHARED);
});

it('a call waits for the stream on which its upstream asks, and no longer than its limit', async () => {
  server.opensNoStreams = true;
  const asked = call('ask');
  await waitFor(() => server.listening === SHARED + 1);
  await clock.advance(PATIENT_LIMITS.upstreamStreamMs - 1);
  expect(isCalled()).toBe(0);
  await clock.advance(1);
  expect(await asked).toContain('decline');
});

it('a call waits no longer than until that stream is open', async () => {
  expect(await call('ask_aside')).toContain('decline');
  expect(clock.monotonicMs()).toBe(0);
});

it('the time in which the client is asked does not count for the limit of the call', async () => {
  let reply: ((answer: ClientAnswer) => void) | undefined;
  answer = () => new Promise((resolve) => (reply = resolve));
  const asked = call('ask', 1_000);
  const answerIt = await waitFor(() => reply);
  await clock.advance(60_000);
  answerIt({ kind: 'result', result: { action: 'decline' } });
  expect(await asked).toContain('decline');
  const held = call('hold', 1_000);
  await waitFor(() => server.holds === 1);
  await clock.advance(1_000);
  expect(await held).toBe('no_answer');
});
