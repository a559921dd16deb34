import { describe, expect, it } from '@jest/globals';
import { openEventStream } from '../../../../../apps/gateway/wire/event-stream.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { systemTime } from '../../../../support/time.ts';

const readerOf = ({ response }: ReturnType<typeof openEventStream>) => {
  if (response.body === null) throw new Error('no body');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  return { next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
};

describe('an event stream', () => {
  it('sends each message as one event, and ends with the last', async () => {
    const stream = openEventStream(systemTime.clock);
    const reader = readerOf(stream);
    void stream.send({ a: 'line\nbreak' });
    stream.end({ b: 2 });
    stream.end({ c: 3 });
    void stream.send({ d: 4 });
    expect(await reader.next()).toBe('event: message\ndata: {"a":"line\\nbreak"}\n\n');
    expect(await reader.next()).toBe('event: message\ndata: {"b":2}\n\n');
    expect(await reader.next()).toBeUndefined();
    await stream.closed;
  });

  it('sends a sign of life at intervals [LISTEN-009, ASSOC-004]', async () => {
    const clock = new ManualClock();
    const stream = openEventStream(clock);
    const reader = readerOf(stream);
    for (let times = 0; times < 3; times += 1) {
      const next = reader.next();
      await clock.advance(15_000);
      expect(await next).toBe(': keep-alive\n\n');
    }
    stream.end();
  });

  it('takes no more than a client reads', async () => {
    const stream = openEventStream(systemTime.clock);
    const taken: number[] = [];
    const sending = (async () => {
      for (let n = 0; n < 100; n += 1) {
        await stream.send({ n });
        taken.push(n);
      }
    })();
    const reader = readerOf(stream);
    for (let n = 0; n < 10; n += 1) expect(await reader.next()).toContain(`{"n":${n}}`);
    expect(taken.length).toBeLessThan(20);
    await reader.cancel();
    await sending;
  });

  it('ends when the client has gone', async () => {
    const stream = openEventStream(systemTime.clock);
    await readerOf(stream).cancel();
    await stream.closed;
    expect(stream.over.aborted).toBe(true);
    await stream.send({ a: 1 });
  });
});
