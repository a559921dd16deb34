import type { Logger } from 'pino';
import {
  canBeAccepted,
  isAsAccepted,
  keyOf,
  describedNameOf,
  asAccepted,
  contentsOf,
  type Accepted,
  type Listed,
  type AcceptedDescription,
  type DescribedKind,
  type DescriptionStore,
  type Pinning,
  type SignatureContents,
  type SignatureSettings,
} from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { listen } from '../../shared/database/listen.ts';
import { type Running, stopAll } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';

/** Where the trigger on `gateway.pin` tells, on commit, that accepted descriptions changed. */
const CHANNEL = 'gateway_signature';
/** How old what is known may get without a word, should a notice be lost. */
const READ_EVERY_MS = 60_000;

/** The lists that clients are told of, each by the kinds that are in it. */
const CHANGES = {
  tools: ['tool'],
  prompts: ['prompt'],
  resources: ['resource', 'resource_template'],
} as const satisfies Record<string, readonly DescribedKind[]>;
type Changed = keyof typeof CHANGES;

/**
 * The accepted descriptions as this process knows them, in memory: no allowed call and no list waits for the database. What
 * becomes known late only refuses what was accepted a moment ago, or goes on with what had been accepted before.
 */
export interface AcceptedDescriptions extends Accepted {
  /** Everything that any list may have, for any caller. The same object until it changes. */
  contents(): Promise<SignatureContents>;
  /** Calls back for each list whose accepted descriptions have changed. Answers how to stop that. */
  onChange(listener: (what: Changed) => void): () => void;
}

export interface AcceptedDescriptionsDeps extends Timing {
  readonly store: DescriptionStore;
  readonly pinning: Pinning;
  /** Everything that the upstreams offer now. */
  readonly offered: () => Promise<readonly Listed[]>;
  readonly settings: SignatureSettings;
  /** A direct connection to the database: a transaction pooler swallows notices. */
  readonly listenUrl: string;
  readonly log: Logger;
}

interface Known {
  readonly byName: ReadonlyMap<string, AcceptedDescription>;
  readonly contents: SignatureContents;
  /** For each list, equal for equal signatures. */
  readonly marks: Readonly<Record<Changed, string>>;
  /** Upstreams of which no more is accepted: there was no room for something else of theirs. */
  readonly full: Set<string>;
}

export function createAcceptedDescriptions(
  deps: AcceptedDescriptionsDeps,
): AcceptedDescriptions & { start(): Running } {
  const { store, pinning, listenUrl, clock, limits, log } = deps;
  const reports = createReports(log);
  const { current, read, onChange } = createReader(deps);
  const readLater = () => void read().catch((err: unknown) => log.warn({ err }, 'the signature cannot be read'));
  const acceptUnseen = createFirstSeen({ store, read, onFull: reports.full });

  async function among<Thing extends Listed>(things: readonly Thing[]): Promise<readonly Thing[]> {
    const before = await current();
    const known = pinning === 'first-seen' ? await acceptUnseen(things, before) : before;
    const acceptedOf = (thing: Listed) => known.byName.get(keyOf(describedNameOf(thing)));
    const accepted = things.filter((thing) => isAsAccepted(thing, acceptedOf(thing)));
    if (accepted.length < things.length) {
      const left = new Set<Listed>(accepted);
      // What there was no room for has been told of, all of it at once.
      const hasRoom = (thing: Listed) => acceptedOf(thing) !== undefined || !known.full.has(thing.upstream);
      reports.unaccepted(things.filter((thing) => !left.has(thing) && hasRoom(thing)));
    }
    return accepted;
  }

  return {
    among,
    async contents() {
      if (pinning === 'first-seen') await among(await deps.offered());
      return (await current()).contents;
    },
    onChange,
    /** Keeps what is known fresh. A database that is away now is read when it is there. */
    start() {
      const listening = listen({ url: listenUrl, channel: CHANNEL, onNotice: readLater, clock, limits, log });
      const rounds = startRounds({
        ...{ name: 'reading of the signature', pauseMs: () => READ_EVERY_MS, clock, log },
        round: async () => void (await read()),
      });
      const notices = { name: 'notices of the signature', stop: async () => (await listening).stop() };
      return { name: 'signature', stop: () => stopAll([rounds, notices]) };
    },
  };
}

interface FirstSeen {
  readonly store: Pick<DescriptionStore, 'add'>;
  readonly read: () => Promise<Known>;
  readonly onFull: (upstream: string, leftOut: number) => void;
}

/** Accepts what is seen for the first time, and answers what is known then. */
function createFirstSeen({ store, read, onFull }: FirstSeen) {
  const isUnseen = (thing: Listed, known: Known) =>
    !known.byName.has(keyOf(describedNameOf(thing))) && canBeAccepted(thing);
  return async (things: readonly Listed[], before: Known): Promise<Known> => {
    // There is room again only when the signature is another one. Until then no list asks the database in vain.
    const unseen = things.filter((thing) => isUnseen(thing, before) && !before.full.has(thing.upstream));
    if (unseen.length === 0) return before;
    await store.add(unseen.map(asAccepted));
    const known = await read();
    const leftOut = unseen.filter((thing) => isUnseen(thing, known));
    for (const upstream of new Set(leftOut.map((thing) => thing.upstream))) {
      known.full.add(upstream);
      onFull(upstream, leftOut.filter((thing) => thing.upstream === upstream).length);
    }
    return known;
  };
}

/** The accepted descriptions, as they were read last. */
function createReader({ store, settings }: Pick<AcceptedDescriptionsDeps, 'store' | 'settings'>) {
  const listeners = new Set<(what: Changed) => void>();
  let known: Known | undefined;
  let asked = 0;
  let shown = 0;

  /** What was asked for earlier may arrive later: it does not take the place of what is newer. */
  const read = async (): Promise<Known> => {
    const turn = (asked += 1);
    const next = knownFrom(await store.all(), settings);
    if (known !== undefined && turn < shown) return known;
    shown = turn;
    const before = known;
    const changed = (Object.keys(CHANGES) as Changed[]).filter((what) => before?.marks[what] !== next.marks[what]);
    if (before !== undefined && changed.length === 0) return before;
    known = next;
    for (const what of changed) for (const listener of listeners) listener(what);
    return next;
  };
  return {
    read,
    current: async (): Promise<Known> => known ?? read(),
    onChange: (listener: (what: Changed) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function knownFrom(pinned: readonly AcceptedDescription[], settings: SignatureSettings): Known {
  const markOf = (what: Changed) =>
    JSON.stringify(
      pinned
        .filter(({ kind }) => (CHANGES[what] as readonly DescribedKind[]).includes(kind))
        .map(({ kind, name, upstream, upstreamName, digest }) => [kind, name, upstream, upstreamName, digest]),
    );
  return {
    byName: new Map(pinned.map((one) => [keyOf(one), one])),
    contents: contentsOf(pinned, settings),
    marks: { tools: markOf('tools'), prompts: markOf('prompts'), resources: markOf('resources') },
    full: new Set(),
  };
}

/** Descriptions of which the log has said that they are not accepted; then it may say so again. */
const MAX_REPORTED = 50_000;
/** The first of the names, where many go in one line. */
const NAMES = 10;

/** What the log says of things that are not used: once for each description, however often it is listed. */
export interface Reports {
  /** These are not as they were accepted: a line for each upstream and kind. */
  readonly unaccepted: (things: readonly Listed[]) => void;
  /** Of this upstream no more is pinned; so many things were left out just now. Once, until the process ends. */
  readonly full: (upstream: string, leftOut: number) => void;
}

export function createReports(log: Logger): Reports {
  const reported = new Set<string>();
  const full = new Set<string>();

  /** Whether it is said for the first time. */
  const isNews = (description: string) => {
    if (reported.has(description)) return false;
    if (reported.size >= MAX_REPORTED) reported.clear();
    reported.add(description);
    return true;
  };
  return {
    unaccepted(things) {
      const groups = new Map<string, { kind: DescribedKind; upstream: string; names: string[] }>();
      for (const thing of things) {
        const { kind, name } = describedNameOf(thing);
        const { upstream, digest } = thing;
        if (!isNews(JSON.stringify([kind, name, upstream, digest]))) continue;
        const key = `${kind} ${upstream}`;
        const group = groups.get(key) ?? { kind, upstream, names: [] };
        group.names.push(name);
        groups.set(key, group);
      }
      for (const { kind, upstream, names } of groups.values()) {
        log.error(
          { alarm: `${kind}_not_accepted`, upstream, count: names.length, names: names.slice(0, NAMES) },
          'what an upstream offers is not described as it was accepted, and is not offered; see `countersign signature diff`',
        );
      }
    },
    full(upstream, leftOut) {
      if (full.has(upstream)) return;
      full.add(upstream);
      log.error(
        { alarm: 'pins_full', upstream, leftOut },
        'an upstream lists more than is accepted without a word (10,000 things, 16 MiB of descriptions): what is beyond ' +
          'that is not offered. `countersign signature accept` accepts it, and forgets what is gone',
      );
    },
  };
}
