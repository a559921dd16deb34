import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { stopRequest, type StopRequest } from '../../../../apps/cli/stop-request.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const LAUNCHER = 17;

class FakeProcess extends EventEmitter {
  ppid = LAUNCHER;
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

let clock: ManualClock;
let process: FakeProcess;
let requests: StopRequest[];
beforeEach(() => {
  clock = new ManualClock();
  process = new FakeProcess();
  requests = [];
});

function listen({ isOfNpm = false } = {}): void {
  void stopRequest({ clock, process, isOfNpm }).then((request) => requests.push(request));
}

describe('a request to stop', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('is %s', async (signal) => {
    listen();
    await clock.advance(60_000);
    expect(requests).toEqual([]);
    process.emit(signal);
    await clock.advance(0);
    expect(requests).toEqual([signal]);
  });

  it('is one although npm hands the signal of the terminal on', async () => {
    listen({ isOfNpm: true });
    process.emit('SIGINT');
    await clock.advance(999);
    process.emit('SIGINT');
    expect(process.exits).toEqual([]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends the process at once if it is repeated by %s', async (signal) => {
    listen();
    process.emit('SIGINT');
    await clock.advance(1_000);
    process.emit(signal);
    expect(process.exits).toEqual([1]);
  });

  it('is in no haste when a terminal ends, however often that is said', async () => {
    listen();
    process.emit('SIGHUP');
    await clock.advance(5_000);
    process.emit('SIGHUP');
    expect(process.exits).toEqual([]);
  });

  it('is the end of what npm started the process with', async () => {
    listen({ isOfNpm: true });
    await clock.advance(1_000);
    expect(requests).toEqual([]);
    process.ppid = 1;
    await clock.advance(1_000);
    expect([requests, clock.waiting]).toEqual([['launcher'], 0]);
  });

  it('is not the end of another parent, such as the shell of a terminal', async () => {
    listen();
    process.ppid = 1;
    await clock.advance(60_000);
    expect(requests).toEqual([]);
  });
});
