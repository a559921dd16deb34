import type { Client, SubscriptionFilter } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import type { Cancel, Clock } from '../../../apps/shared/clock.ts';
import type { Timing } from '../../../apps/shared/limits.ts';
import { REST } from './list.ts';

/** What an upstream says of that it has changed. */
export type Changed = 'tools' | 'prompts' | 'resources';

const NOTICES = {
  'notifications/tools/list_changed': 'tools',
  'notifications/prompts/list_changed': 'prompts',
  'notifications/resources/list_changed': 'resources',
} as const satisfies Record<string, Changed>;

/** How long an upstream is left alone that does not say any more what changes, and one that does not want to. */
const LISTEN_AGAIN_MS = 1_000;
const REFUSED_MS = 30_000;
/** Changes that are announced within this time, in milliseconds, are carried out together. */
const TOGETHER_MS = 50;

/**
 * Calls back for everything that the upstream says has changed, for as long as the client is connected. One of the present
 * revision says so on a stream that it was asked for: when that ends, another is asked for, and all counts as changed, because
 * something may have been missed. Resolves when it is listened to.
 */
export async function hearChanges(client: Client, hearing: Hearing): Promise<void> {
  const { onChanged } = hearing;
  for (const [method, what] of Object.entries(NOTICES)) {
    client.setNotificationHandler(method as keyof typeof NOTICES, () => onChanged(what));
  }
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  const filter: SubscriptionFilter = {
    ...(tools?.listChanged && { toolsListChanged: true }),
    ...(prompts?.listChanged && { promptsListChanged: true }),
    ...(resources?.listChanged && { resourcesListChanged: true }),
  };
  if (client.getProtocolEra() !== 'modern' || Object.keys(filter).length === 0) return;
  await listen(client, filter, hearing);
}

/** What changes are heard with. */
export interface Hearing extends Timing {
  readonly onChanged: (what: Changed) => void;
  readonly log: Logger;
}

async function listen(client: Client, filter: SubscriptionFilter, hearing: Hearing): Promise<void> {
  const { onChanged, log, clock, limits } = hearing;
  const again = (pauseMs: number) => {
    clock.once(pauseMs, () => {
      if (client.transport !== undefined) void listen(client, filter, hearing).then(missed);
    });
  };
  const missed = () => {
    for (const what of Object.values(NOTICES)) onChanged(what);
  };
  try {
    const { closed } = await client.listen(filter, { timeout: limits.upstreamListenMs });
    void closed.then(() => again(LISTEN_AGAIN_MS));
  } catch (err) {
    log.debug({ err }, 'the upstream does not say what changes');
    again(REFUSED_MS);
  }
}

/** Changes of one kind that are announced one after another, carried out together, and never while others are. */
export class GatheredChanges {
  readonly #carryOut: () => Promise<void>;
  readonly #clock: Clock;
  #cancel: Cancel | undefined;
  #isAnnounced = false;
  #isBusy = false;
  #isClosed = false;
  #restsUntil = 0;

  /** @param carryOut Never rejects. */
  constructor(carryOut: () => Promise<void>, clock: Clock) {
    this.#carryOut = carryOut;
    this.#clock = clock;
  }

  /** Told after a list was read, and how many milliseconds that took. */
  rest(tookMs: number): void {
    this.#restsUntil = this.#clock.monotonicMs() + REST * tookMs;
  }

  /** Has what is announced carried out before long: after the rest, and after what is being carried out. */
  announce(): void {
    this.#isAnnounced = true;
    this.#wake();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  /** The first change sets the time: waiting for quiet would let an upstream that never is quiet hide its changes. */
  #wake(): void {
    if (this.#isBusy || this.#isClosed || !this.#isAnnounced) return;
    const pauseMs = Math.max(TOGETHER_MS, this.#restsUntil - this.#clock.monotonicMs());
    this.#cancel ??= this.#clock.once(pauseMs, () => void this.#start());
  }

  async #start(): Promise<void> {
    this.#cancel = undefined;
    this.#isAnnounced = false;
    this.#isBusy = true;
    await this.#carryOut();
    this.#isBusy = false;
    this.#wake();
  }
}
