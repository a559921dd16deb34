import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { pino } from 'pino';
import { ResourceSubscriptions } from '../../activities/clients/upstream/subscriptions.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ORDINARY_LIMITS } from '../support/time.ts';

const PAUSE_MS = 30_000;

/** A connection to an upstream that takes the subscriptions to some addresses only. */
class FakeClient {
  readonly transport = {};
  readonly requests: string[] = [];
  readonly streams = new Set<object>();
  readonly #era: 'modern' | 'legacy';
  takes: (uri: string) => boolean = () => true;
  isListening = true;
  notify: (uri: string) => void = () => undefined;

  constructor(era: 'modern' | 'legacy') {
    this.#era = era;
  }

  getProtocolEra = () => this.#era;
  getServerCapabilities = () => ({ resources: { subscribe: true } });
  setNotificationHandler(_method: string, handler: (notice: { params: { uri: string } }) => void): void {
    this.notify = (uri) => handler({ params: { uri } });
  }

  async request({ method, params: { uri } }: { method: string; params: { uri: string } }): Promise<object> {
    this.requests.push(`${method} ${uri}`);
    if (!this.takes(uri)) throw new Error('refused');
    return {};
  }

  async listen({ resourceSubscriptions: uris }: { resourceSubscriptions: readonly string[] }): Promise<object> {
    this.requests.push(`listen ${uris.join(' ')}`);
    if (!this.isListening) throw new Error('refused');
    const stream = {
      closed: new Promise(() => undefined),
      honoredFilter: { resourceSubscriptions: uris.filter((uri) => this.takes(uri)) },
      close: async () => void this.streams.delete(stream),
    };
    this.streams.add(stream);
    return stream;
  }

  get asClient(): Client {
    return this as unknown as Client;
  }
}

let clock: ManualClock;
let updated: string[];
let subscriptions: ResourceSubscriptions;
beforeEach(() => {
  clock = new ManualClock();
  updated = [];
  const log = pino({ level: 'silent' });
  const onUpdated = (uri: string) => void updated.push(uri);
  subscriptions = new ResourceSubscriptions({ log, clock, limits: ORDINARY_LIMITS, onUpdated });
});

async function connected(era: 'modern' | 'legacy') {
  const client = new FakeClient(era);
  await subscriptions.renew(client.asClient);
  return client;
}
const add = (client: FakeClient, uri: string) => subscriptions.add(client.asClient, uri);

describe('a subscription that the upstream refuses', () => {
  it('keeps no other one from being made again at a new connection', async () => {
    const first = await connected('legacy');
    for (const uri of ['a:1', 'a:2', 'a:3']) expect(await add(first, uri)).toBe(true);
    const second = new FakeClient('legacy');
    second.takes = (uri) => uri !== 'a:1';
    await subscriptions.renew(second.asClient);
    expect(second.requests).toEqual(['resources/subscribe a:1', 'resources/subscribe a:2', 'resources/subscribe a:3']);
    expect(updated).toEqual(['a:1', 'a:2', 'a:3']);
  });

  it('leaves the others their stream, and no second stream open', async () => {
    const client = await connected('modern');
    expect(await add(client, 'a:1')).toBe(true);
    client.takes = (uri) => uri !== 'a:2';
    expect(await add(client, 'a:2')).toBe(false);
    expect(client.streams.size).toBe(1);
    client.notify('a:1');
    client.notify('a:2');
    expect(updated).toEqual(['a:1']);
    expect(await add(client, 'a:3')).toBe(true);
    expect(client.requests.at(-1)).toBe('listen a:1 a:3');
    expect(client.streams.size).toBe(1);
  });

  it('is refused to everyone who asked at the same time', async () => {
    const client = await connected('legacy');
    client.takes = () => false;
    expect(await Promise.all([add(client, 'a:1'), add(client, 'a:1')])).toEqual([false, false]);
    expect(client.requests).toHaveLength(1);
  });
});

describe('a stream of notices', () => {
  it('that a new connection refuses is asked for again, and then everything counts as changed', async () => {
    await add(await connected('modern'), 'a:1');
    const next = new FakeClient('modern');
    next.isListening = false;
    await subscriptions.renew(next.asClient);
    expect(updated).toEqual(['a:1']);
    next.isListening = true;
    await clock.advance(PAUSE_MS);
    expect([next.streams.size, updated]).toEqual([1, ['a:1', 'a:1']]);
  });

  it('is not asked for once the upstream is not used any more', async () => {
    await add(await connected('modern'), 'a:1');
    const next = new FakeClient('modern');
    next.isListening = false;
    await subscriptions.renew(next.asClient);
    subscriptions.leave();
    next.isListening = true;
    await clock.advance(PAUSE_MS);
    expect(next.streams.size).toBe(0);
  });

  it('ends with the last subscription', async () => {
    const client = await connected('modern');
    await add(client, 'a:1');
    await subscriptions.remove('a:1');
    expect([client.streams.size, subscriptions.isNeeded]).toEqual([0, false]);
  });
});

it('notices of a connection that another has replaced are dropped', async () => {
  const old = await connected('legacy');
  await add(old, 'a:1');
  const next = await connected('legacy');
  updated.length = 0;
  old.notify('a:1');
  expect(updated).toEqual([]);
  next.notify('a:1');
  expect(updated).toEqual(['a:1']);
  expect(await add(old, 'a:2')).toBe(false);
});
