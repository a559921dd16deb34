import { beforeEach, describe, expect, it } from '@jest/globals';
import { aView, REQUEST_REF, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { textOf, transfer } from '../../support/gateway-wire.ts';
import { isAnswer, patientHosts, wordsOf } from '../../support/patient-hosts.ts';
import { beginSession, type WireSession, type WireStream } from '../../support/session-wire.ts';
import { waitFor } from '../../support/wait-for.ts';

const { gateway, world, clock, end, waits } = patientHosts();
beforeEach(() => {
  gateway.reset();
  world.decision = requestable();
});

const progressOn = (stream: WireStream) =>
  stream.messages().flatMap(({ method, params }) => (method === 'notifications/progress' ? [params] : []));

async function waitingCall(session: WireSession, params: object = transfer()) {
  const stream = await session.start('tools/call', { ...params, _meta: { progressToken: 'p' } }, 'c-1');
  await waits(1);
  await waitFor(() => progressOn(stream).length === 1);
  return stream;
}
const patientSession = () => beginSession(gateway, { name: 'Patient Host (via a proxy)' });

describe('a call of a session that needs an approval', () => {
  it('waits as long as the host that the session named, and tells of it on the stream of the call', async () => {
    const session = await patientSession();
    const stream = await waitingCall(session);
    await clock.advance(10_000);
    await waitFor(() => progressOn(stream).length === 2);
    expect(progressOn(stream)).toEqual(
      [1, 2].map((progress) => ({ progress, message: 'The call waits for an approval.', progressToken: 'p' })),
    );
    end();
    expect(await wordsOf(stream)).toMatch(/^booked\nThe tool ran once/);
    await stream.ended;
    expect([world.openings.length, world.told]).toEqual([1, []]);

    const hasty = await beginSession(gateway, { name: 'another-host' });
    world.view = aView();
    const { result } = await hasty.ask('tools/call', transfer());
    expect(textOf(result)).toMatch(/has not run.*get_request_status/);
    expect(world.taskListeners.size).toBe(0);
  });

  it('gives its result, and the progress that was missed, to a client that comes back', async () => {
    const session = await patientSession();
    const stream = await waitingCall(session);
    stream.leave();
    await clock.advance(9_000);
    const again = await session.listen(stream.events()[0]?.id);
    // Had the client counted as gone, the wait would have ended by now.
    await clock.advance(60_000);
    await waitFor(() => progressOn(again).length >= 7);
    end();
    expect(await wordsOf(again)).toMatch(/^booked\nThe tool ran once/);
    await again.ended;
    const numbers = progressOn(again).map((params) => params?.['progress']);
    expect(numbers).toEqual(numbers.map((_number, index) => index + 1));
    expect([world.openings.length, world.cancelled]).toEqual([1, []]);
  });

  it('keeps its request open for a client that stays away, and says so to it later', async () => {
    const session = await patientSession();
    const stream = await waitingCall(session);
    stream.leave();
    await waitFor(async () => {
      await clock.advance(5_000);
      return world.taskListeners.size === 0;
    });
    world.told.length = 0;
    end();
    const again = await session.listen(stream.events()[0]?.id);
    expect(await wordsOf(again)).toMatch(new RegExp(`has not run.*get_request_status.*${REQUEST_REF}`));
    await again.ended;
    expect([world.openings.length, world.cancelled, world.told]).toEqual([1, [], []]);
    const asked = { name: 'get_request_status', arguments: { reference: REQUEST_REF } };
    expect(textOf((await session.ask('tools/call', asked)).result)).toMatch(/^booked\nThe tool ran once/);
    expect(world.told).toEqual([TASK_ID]);
  });

  it('ends its wait when the client cancels it, and stays open', async () => {
    const session = await patientSession();
    const stream = await waitingCall(session);
    await session.notify('notifications/cancelled', { requestId: 'c-1' });
    await stream.ended;
    await waits(0);
    expect([stream.messages().some(isAnswer), world.cancelled]).toEqual([false, []]);
  });

  it('ends its wait with an answer when the gateway stops, and can be followed up in the same session after it', async () => {
    const session = await patientSession();
    const stream = await waitingCall(session);
    const stopped = gateway.stop();
    expect(await wordsOf(stream)).toMatch(/has not run.*get_request_status/);
    await clock.advance(600_000);
    await stopped;
    await gateway.start();
    const following = await waitingCall(session, {
      name: 'get_request_status',
      arguments: { reference: REQUEST_REF },
    });
    end();
    expect(await wordsOf(following)).toMatch(/^booked\nThe tool ran once/);
  });
});
