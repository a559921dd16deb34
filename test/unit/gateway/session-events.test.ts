import { describe, expect, it } from '@jest/globals';
import { openConnection } from '../../../apps/gateway/sessions/connection.ts';
import { EventBudget, EventLog } from '../../../apps/gateway/sessions/event-log.ts';
import { SessionStream } from '../../../apps/gateway/sessions/stream.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const bytes = (size: number) => new Uint8Array(size);
const append = (log: EventLog, stream: number, size: number, isNotice = false) =>
  log.append(stream, isNotice, () => bytes(size)).number;
const numbers = (events: ReturnType<EventLog['after']>) => events?.map(({ number }) => number);

describe('the events of a session', () => {
  const logOf = (maxBytes: number, budget = new EventBudget(1_000_000)) => {
    const log = new EventLog(budget, maxBytes);
    for (const stream of [1, 2, 3]) log.begin(stream);
    return log;
  };

  it('are those after the one that the client got last', () => {
    const log = logOf(1_000);
    expect([append(log, 1, 10), append(log, 1, 10), append(log, 2, 10)]).toEqual([1, 2, 1]);
    expect([0, 1, 2, 3].map((after) => numbers(log.after(1, after)))).toEqual([[1, 2], [2], [], undefined]);
    expect(log.after(9, 0)).toBeUndefined();
  });

  it('lose notices first when there are too many, and then whole streams from the oldest', () => {
    const log = logOf(100);
    append(log, 1, 30, true);
    append(log, 1, 40);
    append(log, 2, 40);
    expect([numbers(log.after(1, 0)), numbers(log.after(2, 0))]).toEqual([[2], [1]]);
    append(log, 2, 40);
    expect([log.after(1, 0), numbers(log.after(1, 2)), numbers(log.after(2, 0))]).toEqual([undefined, [], [1, 2]]);
  });

  it('are not kept when one alone is too large', () => {
    const log = logOf(100);
    expect(append(log, 1, 500)).toBe(1);
    expect([log.after(1, 0), log.after(1, 1)]).toEqual([undefined, []]);
  });

  it('of all sessions together have a limit, and none is counted twice', () => {
    const budget = new EventBudget(100);
    const [one, other] = [logOf(1_000, budget), logOf(1_000, budget)];
    append(one, 1, 60);
    append(other, 1, 60);
    expect([one.after(1, 0), numbers(other.after(1, 0)), budget.bytes]).toEqual([undefined, [1], 60]);
    other.forget(1);
    expect(budget.bytes).toBe(0);
    append(one, 2, 50, true);
    one.clear();
    expect(budget.bytes).toBe(0);
  });

  it('make room for a large one by as many old streams as it takes, each dropped once', () => {
    const budget = new EventBudget(100);
    const [one, other] = [logOf(1_000, budget), logOf(1_000, budget)];
    for (const log of [one, other]) for (const stream of [1, 2]) append(log, stream, 25);
    append(one, 3, 60);
    const kept = [one, other].flatMap((log) => [1, 2, 3].map((stream) => numbers(log.after(stream, 0))));
    expect(kept).toEqual([undefined, undefined, [1], undefined, [1], []]);
    expect(budget.bytes).toBe(85);
  });
});

const MEBIBYTE = 1024 * 1024;

describe('the connection of a client that never reads', () => {
  it('is cut after a mebibyte, and keeps no timer', async () => {
    const clock = new ManualClock();
    let left = 0;
    const connection = openConnection(clock, () => (left += 1));
    connection.write(bytes(MEBIBYTE - 1));
    expect(left).toBe(0);
    connection.write(bytes(2));
    connection.write(bytes(2));
    expect([left, clock.waiting]).toEqual([1, 0]);
    connection.write(bytes(2));
    connection.end();
    expect(left).toBe(1);
    await expect(connection.response.arrayBuffer()).rejects.toThrow();
  });

  it('still gets one message that is larger, as long as it reads what came before', async () => {
    const connection = openConnection(new ManualClock(), () => undefined);
    connection.write(bytes(5 * MEBIBYTE));
    connection.end();
    expect((await connection.response.arrayBuffer()).byteLength).toBe(5 * MEBIBYTE);
  });

  it('gets a comment from time to time while it is quiet', async () => {
    const clock = new ManualClock();
    const connection = openConnection(clock, () => undefined);
    await clock.advance(31_000);
    connection.end();
    expect(await connection.response.text()).toBe(': keep-alive\n\n'.repeat(2));
  });
});

describe('the client of a request', () => {
  const streamOf = (clock: ManualClock) => {
    const log = new EventLog(new EventBudget(1_000), 1_000);
    const stream = new SessionStream({ revision: '2025-11-25', log, clock, mark: 'mark' }, 1);
    stream.open.add('c-1');
    return stream;
  };

  it('has gone after ten seconds without a connection, and not before', async () => {
    const clock = new ManualClock();
    const stream = streamOf(clock);
    const { gone } = stream;
    await clock.advance(20_000);
    await stream.connect().body?.cancel();
    await clock.advance(9_000);
    expect(gone.aborted).toBe(false);
    const again = stream.resume(0);
    await clock.advance(20_000);
    expect(gone.aborted).toBe(false);
    await again?.body?.cancel();
    await clock.advance(10_000);
    expect([gone.aborted, stream.gone.aborted]).toEqual([true, true]);
  });

  it('has not gone when its answer is complete', async () => {
    const clock = new ManualClock();
    const stream = streamOf(clock);
    const { gone } = stream;
    const response = stream.connect();
    stream.write({ jsonrpc: '2.0', id: 'c-1', result: {} }, false);
    stream.open.clear();
    stream.finish();
    expect(await response.text()).toMatch(/mark\.1-1\nevent: message/);
    await clock.advance(20_000);
    expect([gone.aborted, clock.waiting]).toEqual([false, 0]);
  });
});
