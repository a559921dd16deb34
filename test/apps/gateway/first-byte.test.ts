import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { requestable, aView, TASK_ID } from '../../support/gateway-world.ts';
import { ACCEPTS, requestOf, transfer } from '../../support/gateway-wire.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { openWire } from '../../support/session-wire.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

const clock = new ManualClock(Date.now());
const gateway = new GatewayUnderTest({ clock, waitSeconds: 3_600 });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(async () => {
  const stopped = gateway.stop();
  await clock.advance(600_000);
  await stopped;
});
beforeEach(() => {
  gateway.reset();
  world.decision = requestable();
});

const FIRST_BYTE_MS = 10_000 * PATIENT_FACTOR;
/** Of the present revision, without tasks and without progress. */
const start = (method: string, params: Record<string, unknown>, accept?: string) => {
  const { body, headers } = requestOf(method, params, { capabilities: {} });
  return openWire(gateway, {
    body: JSON.parse(body) as object,
    headers: { ...ACCEPTS, ...headers, ...(accept && { accept }) },
  });
};
const end = () => {
  world.view = aView({ state: 'executed', result: JSON.stringify({ content: [{ type: 'text', text: 'booked' }] }) });
  world.tell(TASK_ID);
};

describe('a client that hears nothing of a call that waits', () => {
  it('gets the headers in time, a word now and then, and the answer as the one message of the stream', async () => {
    const answering = start('tools/call', transfer());
    await waitFor(() => world.taskListeners.size === 1);
    await clock.advance(FIRST_BYTE_MS);
    const stream = await answering;
    expect([stream.status, stream.headers['content-type']]).toEqual([200, 'text/event-stream']);
    await clock.advance(30_000);
    await waitFor(() => (stream.text().match(/: keep-alive/g) ?? []).length >= 3);
    expect(stream.messages()).toEqual([]);
    end();
    await stream.ended;
    expect(stream.messages()).toMatchObject([{ id: 'r-1', result: { content: [{ text: 'booked' }, {}] } }]);
  });

  it('gets an error so, too', async () => {
    const answering = start('tools/call', transfer());
    await waitFor(() => world.taskListeners.size === 1);
    await clock.advance(FIRST_BYTE_MS);
    const stream = await answering;
    world.failure = new Error('canary');
    world.tell(TASK_ID);
    await stream.ended;
    expect(stream.messages()).toMatchObject([{ id: 'r-1', error: { code: -32_603, message: 'Internal error' } }]);
    expect(stream.text()).not.toContain('canary');
  });

  it('ends the wait when it leaves', async () => {
    const answering = start('tools/call', transfer());
    await waitFor(() => world.taskListeners.size === 1);
    await clock.advance(FIRST_BYTE_MS);
    (await answering).leave();
    await waitFor(() => world.taskListeners.size === 0);
    expect(world.cancelled).toEqual([]);
  });

  it('gets JSON where the answer is there in time', async () => {
    const answering = start('tools/call', transfer());
    await waitFor(() => world.taskListeners.size === 1);
    await clock.advance(FIRST_BYTE_MS - 1);
    end();
    const answer = await answering;
    await answer.ended;
    expect(answer.headers['content-type']).toBe('application/json');
    expect(JSON.parse(answer.text())).toMatchObject({ result: { content: [{ text: 'booked' }, {}] } });
  });
});
