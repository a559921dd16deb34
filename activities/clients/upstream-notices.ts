import type { Client, SubscriptionFilter } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';

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
const LISTEN_TIMEOUT_MS = 10_000;
/** Changes that are announced within this time, in milliseconds, are carried out together. */
const TOGETHER_MS = 50;
/** An upstream is left alone for so many times as long as reading its list took, so it is not read for more than a part of the time. */
const REST = 10;

/**
 * Calls back for everything that the upstream says has changed, for as long as the client is connected. One of the present
 * revision says so on a stream that it was asked for: when that ends, another is asked for, and all counts as changed, because
 * nobody knows what was missed. Resolves when it is listened to.
 */
export async function hearChanges(client: Client, onChanged: (what: Changed) => void, log: Logger): Promise<void> {
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
  await listen(client, filter, { onChanged, log });
}

interface Hearing {
  readonly onChanged: (what: Changed) => void;
  readonly log: Logger;
}

async function listen(client: Client, filter: SubscriptionFilter, { onChanged, log }: Hearing): Promise<void> {
  const again = (pauseMs: number) => {
    setTimeout(() => {
      if (client.transport !== undefined) void listen(client, filter, { onChanged, log }).then(missed);
    }, pauseMs).unref();
  };
  const missed = () => {
    for (const what of Object.values(NOTICES)) onChanged(what);
  };
  try {
    const { closed } = await client.listen(filter, { timeout: LISTEN_TIMEOUT_MS });
    void closed.then(() => again(LISTEN_AGAIN_MS));
  } catch (err) {
    log.debug({ err }, 'the upstream does not say what changes');
    again(REFUSED_MS);
  }
}

/** Changes that are announced one after another, carried out together, and never while others are. */
export class GatheredChanges {
  readonly #carryOut: (what: Changed) => Promise<void>;
  readonly #gathered = new Set<Changed>();
  #timer: NodeJS.Timeout | undefined;
  #isBusy = false;
  #isClosed = false;
  #restsUntil = 0;

  /** @param carryOut Never rejects. */
  constructor(carryOut: (what: Changed) => Promise<void>) {
    this.#carryOut = carryOut;
  }

  /** Told after a list was read, and how many milliseconds that took. */
  rest(tookMs: number): void {
    this.#restsUntil = performance.now() + REST * tookMs;
  }

  add(what: Changed): void {
    this.#gathered.add(what);
    this.#wake();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** The first change sets the time: waiting for quiet would let an upstream that never is quiet hide its changes. */
  #wake(): void {
    if (this.#isBusy || this.#isClosed || this.#gathered.size === 0) return;
    const pauseMs = Math.max(TOGETHER_MS, this.#restsUntil - performance.now());
    this.#timer ??= setTimeout(() => void this.#carryOutAll(), pauseMs).unref();
  }

  async #carryOutAll(): Promise<void> {
    this.#timer = undefined;
    this.#isBusy = true;
    const gathered = [...this.#gathered];
    this.#gathered.clear();
    await Promise.all(gathered.map((what) => this.#carryOut(what)));
    this.#isBusy = false;
    this.#wake();
  }
}
