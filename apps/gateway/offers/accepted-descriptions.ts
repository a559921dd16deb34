import type { Logger } from 'pino';
import {
  canBePinned,
  isAsPinned,
  keyOf,
  pinNameOf,
  pinOf,
  type Accepted,
  type Listed,
  type Pin,
  type PinKind,
  type Pins,
} from '../../../workflows/domain/tools/pins.ts';
import {
  contentsOf,
  type Pinning,
  type SignatureContents,
  type SignatureSettings,
} from '../../../workflows/domain/tools/signature.ts';
import { listen } from '../../shared/database/listen.ts';
import { stopAll, type Running } from '../../shared/lifecycle.ts';
import type { Timing } from '../../shared/limits.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';

/** Where the database tells, on commit, that the signature changed. The trigger on `gateway.pin` does. */
const CHANNEL = 'gateway_signature';
/** How old what is known may get without a word, should a notice be lost. */
const READ_EVERY_MS = 60_000;

/** The lists that clients are told of, each by the kinds that are in it. */
const CHANGES = {
  tools: ['tool'],
  prompts: ['prompt'],
  resources: ['resource', 'resource_template'],
} as const satisfies Record<string, readonly PinKind[]>;
type Changed = keyof typeof CHANGES;

/**
 * The signature as this process knows it. It is kept in memory, so that no allowed call and no list waits for the database.
 * What nobody accepted is in none that was ever stored: what is known late can only refuse what was accepted a moment ago, or
 * go on with what had been accepted before.
 */
export interface Signature extends Accepted {
  /** Everything that any list may have, whoever asks. The same object until it changes. */
  contents(): Promise<SignatureContents>;
  /** Calls back for each list whose part of the signature has changed. Answers how to stop that. */
  onChange(listener: (what: Changed) => void): () => void;
}

export interface SignatureDeps extends Timing {
  readonly pins: Pins;
  readonly pinning: Pinning;
  /** Everything that the upstreams offer now. */
  readonly offered: () => Promise<readonly Listed[]>;
  readonly settings: SignatureSettings;
  /** A direct connection to the database: a transaction pooler swallows notices. */
  readonly listenUrl: string;
  readonly log: Logger;
}

interface Known {
  readonly pins: ReadonlyMap<string, Pin>;
  readonly contents: SignatureContents;
  /** For each list, equal for equal signatures. */
  readonly marks: Readonly<Record<Changed, string>>;
  /** Upstreams of which no more is pinned: there was no room for something else of theirs. */
  readonly full: Set<string>;
}

export function createSignature(deps: SignatureDeps): Signature & { start(): Running } {
  const { pins, pinning, listenUrl, clock, limits, log } = deps;
  const reports = createReports(log);
  const { current, read, onChange } = createReader(deps);
  const readLater = () => void read().catch((err: unknown) => log.warn({ err }, 'the signature cannot be read'));
  const pinUnseen = createFirstSeen({ pins, read, onFull: reports.full });

  async function among<Thing extends Listed>(things: readonly Thing[]): Promise<readonly Thing[]> {
    const before = await current();
    const known = pinning === 'first-seen' ? await pinUnseen(things, before) : before;
    const pinOfThing = (thing: Listed) => known.pins.get(keyOf(pinNameOf(thing)));
    const accepted = things.filter((thing) => isAsPinned(thing, pinOfThing(thing)));
    if (accepted.length < things.length) {
      const left = new Set<Listed>(accepted);
      // What there was no room for has been told of, all of it at once.
      const hasRoom = (thing: Listed) => pinOfThing(thing) !== undefined || !known.full.has(thing.upstream);
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
  readonly pins: Pick<Pins, 'add'>;
  readonly read: () => Promise<Known>;
  readonly onFull: (upstream: string, leftOut: number) => void;
}

/** Pins what is not pinned yet, and answers what is known then. */
function createFirstSeen({ pins, read, onFull }: FirstSeen) {
  const isUnseen = (thing: Listed, known: Known) => !known.pins.has(keyOf(pinNameOf(thing))) && canBePinned(thing);
  return async (things: readonly Listed[], before: Known): Promise<Known> => {
    // There is room again only when the signature is another one. Until then no list asks the database in vain.
    const unseen = things.filter((thing) => isUnseen(thing, before) && !before.full.has(thing.upstream));
    if (unseen.length === 0) return before;
    await pins.add(unseen.map(pinOf));
    const known = await read();
    const leftOut = unseen.filter((thing) => isUnseen(thing, known));
    for (const upstream of new Set(leftOut.map((thing) => thing.upstream))) {
      known.full.add(upstream);
      onFull(upstream, leftOut.filter((thing) => thing.upstream === upstream).length);
    }
    return known;
  };
}

/** What is pinned, as it was read last. */
function createReader({ pins, settings }: Pick<SignatureDeps, 'pins' | 'settings'>) {
  const listeners = new Set<(what: Changed) => void>();
  let known: Known | undefined;
  let asked = 0;
  let shown = 0;

  /** What was asked for earlier may arrive later: it does not take the place of what is newer. */
  const read = async (): Promise<Known> => {
    const turn = (asked += 1);
    const next = knownFrom(await pins.all(), settings);
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

function knownFrom(pinned: readonly Pin[], settings: SignatureSettings): Known {
  const markOf = (what: Changed) =>
    JSON.stringify(
      pinned
        .filter(({ kind }) => (CHANGES[what] as readonly PinKind[]).includes(kind))
        .map(({ kind, name, upstream, upstreamName, digest }) => [kind, name, upstream, upstreamName, digest]),
    );
  return {
    pins: new Map(pinned.map((pin) => [keyOf(pin), pin])),
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
      const groups = new Map<string, { kind: PinKind; upstream: string; names: string[] }>();
      for (const thing of things) {
        const { kind, name } = pinNameOf(thing);
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
