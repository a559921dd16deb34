import { afterAll, beforeAll } from '@jest/globals';
import { GatewayUnderTest } from './gateway.ts';
import { aView, TASK_ID } from './gateway-world.ts';
import { textOf } from './gateway-wire.ts';
import { ManualClock } from './manual-clock.ts';
import type { Message, WireStream } from './session-wire.ts';
import { waitFor } from './wait-for.ts';

const EXECUTED = aView({
  state: 'executed',
  result: JSON.stringify({ content: [{ type: 'text', text: 'booked' }] }),
});
export const isAnswer = ({ result, error }: Message) => result !== undefined || error !== undefined;
export const wordsOf = async (stream: WireStream) => textOf((await stream.next(isAnswer)).result);

/** A gateway where only the calls of the client `patient-host` wait, by a clock that a test moves. For the tests of one file. */
export function patientHosts() {
  const clock = new ManualClock(Date.now());
  const gateway = new GatewayUnderTest({ clock, waitSeconds: { 'patient-host': 240, default: 0 } });
  const { world } = gateway;
  beforeAll(() => gateway.start());
  afterAll(async () => {
    const stopped = gateway.stop();
    await clock.advance(600_000);
    await stopped;
  });
  return {
    clock,
    gateway,
    world,
    /** Ends the held call. */
    end(view = EXECUTED) {
      world.view = view;
      world.tell(TASK_ID);
    },
    /** Resolves when so many calls wait. */
    waits: (count: number) => waitFor(() => world.taskListeners.size === count),
  };
}
