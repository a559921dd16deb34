import type { Logger } from 'pino';
import {
  canBeAccepted,
  isAsAccepted,
  keyOf,
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

/** The trigger on `gateway.accepted_description` sends a notice here on commit. */
const CHANNEL = 'gateway_signature';
/** The descriptions are read again this often, in case a notice was lost. */
const READ_EVERY_MS = 60_000;

/** The lists whose changes clients are notified of, and the kinds in each. */
const CHANGES = {
  tools: ['tool'],
  prompts: ['prompt'],
  resources: ['resource', 'resource_template'],
} as const satisfies Record<string, readonly DescribedKind[]>;
type Changed = keyof typeof CHANGES;

/**
 * The accepted descriptions, in memory, so that allowed calls and lists do not wait for the database. A late update only means that a
 * description accepted a moment ago is still refused, or that the one accepted before is still used.
 */
export interface AcceptedDescriptions extends Accepted {
  /** Every entry that a list may have, for any caller. The same object until it changes. */
  contents(): Promise<SignatureContents>;
  /** Calls back for each list whose accepted descriptions have changed. Returns a function that stops that. */
  onChange(listener: (what: Changed) => void): () => void;
}

interface AcceptedDescriptionsDeps extends Timing {
  readonly store: DescriptionStore;
  readonly pinning: Pinning;
  readonly offered: () => Promise<readonly Listed[]>;
  readonly settings: SignatureSettings;
  /** A direct connection to the database: a transaction pooler swallows notices. */
  readonly listenUrl: string;
  readonly log: Logger;
}

interface Known {
  readonly byName: ReadonlyMap<string, AcceptedDescription>;
  readonly contents: SignatureContents;
  /** A fingerprint of each list. */
  readonly marks: Readonly<Record<Changed, string>>;
  /** Upstreams that have reached their limit of accepted descriptions. */
  readonly full: Set<string>;
}

export function createAcceptedDescriptions(deps: AcceptedDescriptionsDeps): AcceptedDescriptions & {
  start(): Running;
  /** The settings of upstreams and tools have changed, which the contents depend on. */
  readonly settingsChanged: () => void;
} {
  const { store, pinning, listenUrl, clock, limits, log } = deps;
  const reports = createReports(log);
  const { current, read, onChange, settingsChanged } = createReader(deps);
  const readLater = () => void read().catch((err: unknown) => log.warn({ err }, 'the signature cannot be read'));
  const acceptUnseen = createFirstSeen(store, read, reports.full);

  async function among<Thing extends Listed>(things: readonly Thing[]): Promise<readonly Thing[]> {
    const before = await current();
    const known = pinning === 'first-seen' ? await acceptUnseen(things, before) : before;
    const acceptedOf = (thing: Listed) => known.byName.get(keyOf(thing));
    const accepted = things.filter((thing) => isAsAccepted(thing, acceptedOf(thing)));
    if (accepted.length < things.length) {
      const left = new Set<Listed>(accepted);
      // Descriptions beyond the limit were reported already, all at once.
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
    settingsChanged,
    /** Keeps the descriptions fresh. If the database is away, they are read once it is back. */
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

/** Accepts the descriptions that are seen for the first time. */
function createFirstSeen(
  store: Pick<DescriptionStore, 'add'>,
  read: () => Promise<Known>,
  onFull: (upstream: string, leftOut: number) => void,
) {
  const isUnseen = (thing: Listed, known: Known) => !known.byName.has(keyOf(thing)) && canBeAccepted(thing);
  return async (things: readonly Listed[], before: Known): Promise<Known> => {
    // There is room again only when the signature has changed. Until then, lists do not ask the database in vain.
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

function createReader({ store, settings }: Pick<AcceptedDescriptionsDeps, 'store' | 'settings'>) {
  const listeners = new Set<(what: Changed) => void>();
  let known: Known | undefined;
  let started = 0;
  let latest = 0;

  /** An earlier read may finish later. It does not replace the result of a later read. */
  const read = async (): Promise<Known> => {
    const turn = (started += 1);
    const next = knownFrom(await store.all(), settings);
    if (known !== undefined && turn < latest) return known;
    latest = turn;
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
    /** Descriptions that were accepted or not stay so. */
    settingsChanged: (): void => {
      if (known !== undefined) known = { ...known, contents: contentsOf([...known.byName.values()], settings) };
    },
    onChange: (listener: (what: Changed) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function knownFrom(accepted: readonly AcceptedDescription[], settings: SignatureSettings): Known {
  const markOf = (what: Changed) =>
    JSON.stringify(
      accepted
        .filter(({ kind }) => (CHANGES[what] as readonly DescribedKind[]).includes(kind))
        .map(({ kind, name, upstream, upstreamName, digest }) => [kind, name, upstream, upstreamName, digest]),
    );
  return {
    byName: new Map(accepted.map((one) => [keyOf(one), one])),
    contents: contentsOf(accepted, settings),
    marks: { tools: markOf('tools'), prompts: markOf('prompts'), resources: markOf('resources') },
    full: new Set(),
  };
}

/** Descriptions that were reported as not accepted. Beyond this, a description may be reported again. */
const MAX_REPORTED = 50_000;
/** Names in one line of the log. */
const MAX_NAMES = 10;

/** Logs the items that are not offered: once for each description, however often it is listed. */
function createReports(log: Logger) {
  const reported = new Set<string>();
  const full = new Set<string>();

  const isNews = (description: string) => {
    if (reported.has(description)) return false;
    if (reported.size >= MAX_REPORTED) reported.clear();
    reported.add(description);
    return true;
  };
  return {
    /** Descriptions that are not the accepted ones: one line for each upstream and kind. */
    unaccepted: (things: readonly Listed[]) => {
      const groups = new Map<string, { kind: DescribedKind; upstream: string; names: string[] }>();
      for (const thing of things) {
        const { kind, name, upstream, digest } = thing;
        if (!isNews(JSON.stringify([kind, name, upstream, digest]))) continue;
        const key = `${kind} ${upstream}`;
        const group = groups.get(key) ?? { kind, upstream, names: [] };
        group.names.push(name);
        groups.set(key, group);
      }
      for (const { kind, upstream, names } of groups.values()) {
        log.error(
          { alarm: `${kind}_not_accepted`, upstream, count: names.length, names: names.slice(0, MAX_NAMES) },
          'an upstream does not describe these as the operator accepted them, so they are not offered; see `countersign signature diff`',
        );
      }
    },
    /** This upstream has reached its limit. Reported once, until the process ends. */
    full: (upstream: string, leftOut: number) => {
      if (full.has(upstream)) return;
      full.add(upstream);
      log.error(
        { alarm: 'accepted_descriptions_full', upstream, leftOut },
        'an upstream lists more than is accepted automatically (10,000 items, 16 MiB of descriptions); the rest is not offered. ' +
          'Next step: `countersign signature accept` accepts it, and forgets what is gone',
      );
    },
  };
}
