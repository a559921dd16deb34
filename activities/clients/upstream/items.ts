import type { Logger } from 'pino';
import type { Clock } from '../../../apps/shared/clock.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { descriptionOf } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { CARD_ADDRESS } from '../../../workflows/domain/tools/wire-names.ts';
import {
  ITEM_LISTS,
  RECONFIGURED,
  type ItemKind,
  type UpstreamItem,
  type UpstreamItems,
} from '../../../workflows/domain/upstream-ports.ts';
import type { AskingConnections } from './asking-connections.ts';
import { isRound, readAnswer, readRound } from './answer.ts';
import type { UpstreamConnection } from './connection.ts';
import { createList } from './list.ts';
import type { Changed } from './notices.ts';
import { candidatesFor, type PrefixedUpstream } from './offered-tools.ts';
import { atMost } from './reconnection.ts';

/** After an upstream failed to list its items, it is not asked again for so long. */
const RETRY_MS = 5_000;

interface Surroundings {
  readonly asking: Pick<AskingConnections, 'send'>;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The list of one kind of one upstream: read when it is asked for, and again after it may have changed. */
function createListing(connection: UpstreamConnection, kind: ItemKind, { log, clock }: Omit<Surroundings, 'asking'>) {
  const list = createList(ITEM_LISTS[kind], clock);
  const { capability } = ITEM_LISTS[kind];
  let failedAt: number | undefined;

  const hasJustFailed = () => failedAt !== undefined && clock.monotonicMs() - failedAt < RETRY_MS;
  const read = async (): Promise<void> => {
    try {
      const { isNews } = await connection.read(await connection.connect(), list);
      failedAt = undefined;
      for (const { name, reason } of isNews ? list.unusable() : []) {
        log.error({ kind, name, reason }, 'an item cannot be used, and is not offered');
      }
    } catch (err) {
      if (failedAt === undefined) log.warn({ err }, `the upstream does not list its ${capability}`);
      failedAt = clock.monotonicMs();
      throw err;
    }
  };

  return {
    changed: () => list.changed(),
    /** The last list, even if it is old. */
    known: (): readonly JsonObject[] => list.items() ?? [],

    /**
     * Reads the list where it is too old, if the upstream lists it now. Waits for an upstream that never failed to list it, and
     * for no other: an upstream that hangs delays readers of other upstreams once at most.
     */
    async refresh(): Promise<void> {
      if (hasJustFailed()) return;
      await atMost(list.ensureGood(read), failedAt === undefined ? connection.waitMs : 0, clock);
    },

    /** Throws `ERR_UPSTREAM_LIST_UNAVAILABLE` where the last list is too old, and no other can be had: nothing may be sent on its strength. */
    async ensureGood(): Promise<void> {
      if (list.isGood()) return;
      if (!hasJustFailed() && (await atMost(list.ensureGood(read), connection.waitMs, clock))) return;
      const message = `the upstream server does not list its ${capability}`;
      throw new CountersignError('ERR_UPSTREAM_LIST_UNAVAILABLE', message);
    },
  };
}

type Listing = ReturnType<typeof createListing>;

type Listings = ReadonlyMap<string, Readonly<Record<ItemKind, Listing>>>;

interface Items extends Omit<UpstreamItems, 'subscribe' | 'unsubscribe' | 'onUpdated'>, ReturnType<typeof changesOf> {
  /** The upstreams have changed: those with another connection list their items anew. */
  reconfigured(): void;
}

/** `upstreams` may change, as `reconfigured` is told. */
export function createItems(upstreams: ReadonlyMap<string, PrefixedUpstream>, surroundings: Surroundings): Items {
  const { log } = surroundings;
  const { listings, reconfigured } = createListings(upstreams, surroundings);
  const { gather, gatherGood } = createGathering(upstreams, listings, log);
  const soleOwner = createSoleOwner(log);

  return {
    ...changesOf(listings),
    reconfigured,
    ask: createAsk(upstreams, surroundings),
    mayHave: (capability) =>
      [...upstreams.values()].some(
        ({ connection: { capabilities } }) => capabilities === undefined || capabilities[capability] !== undefined,
      ),

    async list(kind) {
      const claims = new Map<string, UpstreamItem[]>();
      for (const item of await gather(kind, () => true)) {
        claims.set(item.name, [...(claims.get(item.name) ?? []), item]);
      }
      const owned = [...claims.values()].flatMap((of) => soleOwner(of) ?? []);
      const present = owned.filter(({ upstream }) => upstreams.get(upstream)?.connection.isConnected);
      return present.sort((a, b) => (a.name < b.name ? -1 : 1));
    },

    async find(kind, name) {
      const named = kind === 'prompt' ? candidatesFor(name, upstreams) : upstreams;
      const candidates = [...named].map(([upstream]) => upstream);
      return soleOwner(await gatherGood(kind, (one) => one === name, candidates));
    },

    async findResource(uri) {
      // No template of an upstream answers for it either.
      if (uri === CARD_ADDRESS) return [];
      const [listed, made] = await Promise.all([
        gatherGood('resource', (one) => one === uri),
        gatherGood('resource_template', (template) => mayBecome(template, uri)),
      ]);
      const first = soleOwner([...listed, ...made]);
      if (first === undefined) return [];
      return listed.length > 0 ? [first] : made;
    },
  };
}

/** The listings of each upstream. One that keeps its connection keeps its listings. */
function createListings(
  upstreams: ReadonlyMap<string, PrefixedUpstream>,
  { log, clock }: Omit<Surroundings, 'asking'>,
) {
  const listings = new Map<string, Readonly<Record<ItemKind, Listing>>>();
  const owners = new Map<string, UpstreamConnection>();
  const reconfigured = () => {
    for (const upstream of [...listings.keys()]) if (!upstreams.has(upstream)) listings.delete(upstream);
    for (const [upstream, { connection }] of upstreams) {
      if (listings.has(upstream) && owners.get(upstream) === connection) continue;
      const listing = (kind: ItemKind) => createListing(connection, kind, { log: log.child({ upstream }), clock });
      const all = { prompt: listing('prompt'), resource: listing('resource') };
      listings.set(upstream, { ...all, resource_template: listing('resource_template') });
      owners.set(upstream, connection);
    }
  };
  reconfigured();
  return { listings, reconfigured };
}

const createAsk =
  (upstreams: ReadonlyMap<string, PrefixedUpstream>, { asking, clock }: Surroundings): UpstreamItems['ask'] =>
  ({ upstream, method, params, caller, conversation, connection: only }, options) => {
    const connection = upstreams.get(upstream)?.connection;
    if (only !== undefined && connection?.id !== only)
      return Promise.resolve({ kind: 'not_sent', cause: RECONFIGURED } as const);
    // Without a conversation, no capability was declared for which the upstream could ask.
    const read = (raw: unknown) =>
      conversation !== undefined && isRound(raw) ? readRound(raw) : readAnswer(method, raw);
    const request = { method, params, conversation };
    return asking.send({ upstream, connection }, request, { ...options, clock, caller }, read);
  };

/** Gathers the items of a kind that these upstreams list and that fit, under their public names. */
function createGathering(upstreams: ReadonlyMap<string, PrefixedUpstream>, listings: Listings, log: Logger) {
  const describe = createDescribe(log);
  type Of = [kind: ItemKind, fits: (name: string) => boolean, of?: readonly string[]];

  /** The items of the last lists, even if a list is old. */
  const known = (kind: ItemKind, fits: (name: string) => boolean, of: readonly string[]): UpstreamItem[] =>
    of.flatMap((upstream) => {
      // An address means the same wherever it is written, so it has no prefix.
      const { namePrefix: prefix = '', connection } = upstreams.get(upstream) ?? {};
      const namePrefix = kind === 'prompt' ? prefix : '';
      const from = { kind, upstream, namePrefix, ...(connection !== undefined && { connection: connection.id }) };
      const items = listings.get(upstream)?.[kind].known() ?? [];
      return items
        .filter((definition) => fits(`${namePrefix}${definition[ITEM_LISTS[kind].key] as string}`))
        .flatMap((definition) => describe(from, definition) ?? []);
    });

  async function gather(...[kind, fits, of = [...listings.keys()]]: Of): Promise<UpstreamItem[]> {
    for (;;) {
      const asked = of.map((upstream) => listings.get(upstream)?.[kind]);
      await Promise.all(asked.map(async (listing) => listing?.refresh()));
      // The list of a server that was replaced meanwhile is of no account.
      if (of.every((upstream, index) => listings.get(upstream)?.[kind] === asked[index])) return known(kind, fits, of);
    }
  }

  /** For a request that is to be sent: only from lists that are not too old. Throws `ERR_UPSTREAM_LIST_UNAVAILABLE`. */
  async function gatherGood(...[kind, fits, of]: Of): Promise<UpstreamItem[]> {
    const from = new Set((await gather(kind, fits, of)).map(({ upstream }) => upstream));
    await Promise.all([...from].map(async (upstream) => listings.get(upstream)?.[kind].ensureGood()));
    return known(kind, fits, [...from]);
  }

  return { gather, gatherGood };
}

const changesOf = (listings: Listings) => ({
  /** The upstream may list other items of these by now. */
  changed(upstream: string, what: Exclude<Changed, 'tools'>): void {
    const { prompt, resource, resource_template: template } = listings.get(upstream) ?? {};
    for (const listing of what === 'prompts' ? [prompt] : [resource, template]) listing?.changed();
  },
  /** Every upstream may list other items by now. */
  outdate(): void {
    for (const all of listings.values()) Object.values(all).forEach((listing) => listing.changed());
  },
});

interface Named {
  readonly namePrefix: string;
}

/**
 * Describes an item once for each list that was read, however often the list is asked for; undefined when it has no digest, or an address
 * of the gateway.
 */
function createDescribe(log: Logger) {
  const described = new WeakMap<JsonObject, UpstreamItem>();
  const reserved = new WeakSet<JsonObject>();
  return (
    { kind, upstream, namePrefix, ...from }: Pick<UpstreamItem, 'kind' | 'upstream' | 'connection'> & Named,
    definition: JsonObject,
  ): UpstreamItem | undefined => {
    const upstreamName = definition[ITEM_LISTS[kind].key] as string;
    if (kind === 'resource' && upstreamName === CARD_ADDRESS) {
      const found = "the address is that of the gateway's own page, so the item is left out";
      if (!reserved.has(definition)) log.error({ upstream, kind, name: upstreamName }, found);
      reserved.add(definition);
      return undefined;
    }
    const known = described.get(definition);
    if (known?.name === `${namePrefix}${upstreamName}`) return known;
    try {
      const digest = `sha-256:${sha256(canonicalJson(descriptionOf(kind, definition)))}`;
      const name = `${namePrefix}${upstreamName}`;
      const item = { kind, upstream, ...from, upstreamName, name, definition, digest };
      described.set(definition, item);
      return item;
    } catch (err) {
      log.error({ upstream, kind, err }, 'an item has no canonical description and is left out');
      return undefined;
    }
  };
}

/**
 * An item that two upstreams claim belongs to neither: it would be unknown which one policy allowed. An address that one lists and
 * that another's template fits is no exception, or an upstream could take over what another answers for.
 */
function createSoleOwner(log: Logger) {
  const reported = new Set<string>();
  return (claims: readonly UpstreamItem[]): UpstreamItem | undefined => {
    const names = [...new Set(claims.map(({ upstream }) => upstream))].sort();
    if (names.length <= 1) return claims[0];
    const key = names.join(' ');
    if (!reported.has(key)) {
      const found = 'these upstreams claim the same name or address; the gateway offers it from neither';
      log.error({ upstreams: names, name: claims[0]?.name }, found);
    }
    reported.add(key);
    return undefined;
  };
}

/**
 * Whether a URI may have been made from a template: its fixed parts are all there, in order. It says yes more often than RFC
 * 6570 would, which only makes more claims contested; a pattern made from an upstream's template could take for ever. A
 * template without a scheme of its own would claim everything, and claims nothing.
 */
function mayBecome(template: string, uri: string): boolean {
  const [start = '', ...parts] = template.split(/\{[^{}]*\}/);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(start) || !uri.startsWith(start)) return false;
  const end = parts.pop();
  if (end === undefined) return uri === start;
  let at = start.length;
  for (const part of parts) {
    const found = uri.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return uri.length - end.length >= at && uri.endsWith(end);
}
