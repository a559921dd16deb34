import type { Client, SubscriptionFilter } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import type { Cancel, Clock } from '../../../apps/shared/clock.ts';
import type { Timing } from '../../../apps/shared/limits.ts';
import { REST } from './list.ts';

/** The lists of which an upstream says that they changed. */
export type Changed = 'tools' | 'prompts' | 'resources';

const NOTICES = {
  'notifications/tools/list_changed': 'tools',
  'notifications/prompts/list_changed': 'prompts',
  'notifications/resources/list_changed': 'resources',
} as const satisfies Record<string, Changed>;

/** Before the stream of notices is asked for again: after it ended, and after the upstream refused it. */
const LISTEN_AGAIN_MS = 1_000;
const REFUSED_MS = 30_000;
/** Changes that are announced within this time, in milliseconds, are carried out together. */
const GATHER_MS = 50;

/**
 * Calls back for every change that the upstream announces, for as long as the client is connected. An upstream of the present
 * revision announces changes on a stream that the client asks for. When the stream ends, the client asks for another one, and all
 * lists count as changed, because a notice may have been missed. Resolves when the stream is open.
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
    log.debug({ err }, 'the upstream does not announce changes');
    again(REFUSED_MS);
  }
}

/**
 * Gathers changes of one kind that are announced one after another: they are carried out together, and never while others are.
 *
 * @param carryOut Never rejects.
 */
export function gatherChanges(carryOut: () => Promise<void>, clock: Clock) {
  let cancel: Cancel | undefined;
  let isAnnounced = false;
  let isBusy = false;
  let isClosed = false;
  let restsUntil = 0;

  /** The first change sets the time: waiting for quiet would let an upstream that never is quiet hide its changes. */
  function schedule(): void {
    if (isBusy || isClosed || !isAnnounced) return;
    cancel ??= clock.once(Math.max(GATHER_MS, restsUntil - clock.monotonicMs()), () => void start());
  }
  async function start(): Promise<void> {
    cancel = undefined;
    isAnnounced = false;
    isBusy = true;
    await carryOut();
    isBusy = false;
    schedule();
  }

  return {
    /** Call it after a list was read, which took so many milliseconds. */
    rest: (tookMs: number) => void (restsUntil = clock.monotonicMs() + REST * tookMs),
    /** Has the change carried out before long: after the rest, and after the changes that are being carried out. */
    announce(): void {
      isAnnounced = true;
      schedule();
    },
    close(): void {
      isClosed = true;
      cancel?.();
    },
  };
}
