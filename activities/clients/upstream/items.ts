import type { Logger } from 'pino';
import type { Clock } from '../../../apps/shared/clock.ts';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type {
  ItemKind,
  UpstreamAnswer,
  UpstreamItem,
  UpstreamItems,
} from '../../../workflows/domain/upstream-ports.ts';
import { descriptionOf } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import { candidatesFor, type PrefixedUpstream } from './offered-tools.ts';
import { readAnswer, isRound, readRound } from './answer.ts';
import { askOnce } from './request.ts';
import { LISTINGS, UpstreamListing } from './listing.ts';
import type { Changed } from './notices.ts';

/** What several upstreams list beside tools, put together. */
export class JoinedItems implements UpstreamItems {
  readonly #upstreams: ReadonlyMap<string, PrefixedUpstream>;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #listings: ReadonlyMap<string, Readonly<Record<ItemKind, UpstreamListing>>>;
  readonly #described = new WeakMap<JsonObject, UpstreamItem>();
  /** Upstreams of which the log says already that they claim the same. */
  readonly #reported = new Set<string>();

  constructor(
    upstreams: ReadonlyMap<string, PrefixedUpstream>,
    { log, clock }: { readonly log: Logger; readonly clock: Clock },
  ) {
    this.#upstreams = upstreams;
    this.#log = log;
    this.#clock = clock;
    this.#listings = new Map(
      [...upstreams].map(([upstream, { connection }]) => {
        const listing = (kind: ItemKind) =>
          new UpstreamListing(connection, kind, { log: log.child({ upstream }), clock });
        return [
          upstream,
          {
            prompt: listing('prompt'),
            resource: listing('resource'),
            resource_template: listing('resource_template'),
          },
        ];
      }),
    );
  }

  mayHave(capability: 'prompts' | 'resources' | 'completions'): boolean {
    return [...this.#upstreams.values()].some(
      ({ connection: { capabilities } }) => capabilities === undefined || capabilities[capability] !== undefined,
    );
  }

  async list(kind: ItemKind): Promise<readonly UpstreamItem[]> {
    const claims = new Map<string, UpstreamItem[]>();
    for (const item of await this.#gather(kind, () => true)) {
      const others = claims.get(item.name);
      if (others === undefined) claims.set(item.name, [item]);
      else others.push(item);
    }
    const owned = [...claims.values()].flatMap((of) => this.#soleOwner(of) ?? []);
    const present = owned.filter(({ upstream }) => this.#upstreams.get(upstream)?.connection.isConnected);
    return present.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async find(kind: ItemKind, name: string): Promise<UpstreamItem | undefined> {
    const named = kind === 'prompt' ? candidatesFor(name, this.#upstreams) : this.#upstreams;
    const candidates = [...named].map(([upstream]) => upstream);
    return this.#soleOwner(await this.#gatherGood(kind, (known) => known === name, candidates));
  }

  async findResource(uri: string): Promise<readonly UpstreamItem[]> {
    const [listed, made] = await Promise.all([
      this.#gatherGood('resource', (known) => known === uri),
      this.#gatherGood('resource_template', (template) => mayBecome(template, uri)),
    ]);
    const first = this.#soleOwner([...listed, ...made]);
    if (first === undefined) return [];
    return listed.length > 0 ? [first] : made;
  }

  ask(
    { upstream, method, params, caller, conversation }: Parameters<UpstreamItems['ask']>[0],
    options: Parameters<UpstreamItems['ask']>[1],
  ): Promise<UpstreamAnswer> {
    const connection = this.#upstreams.get(upstream)?.connection;
    // Those who are asked without a conversation declared nothing that could be asked of them.
    const read = (raw: unknown) =>
      conversation !== undefined && isRound(raw) ? readRound(raw) : readAnswer(method, raw);
    return askOnce(connection, { method, params, conversation }, { ...options, clock: this.#clock, caller }, read);
  }

  /** What this upstream lists of it may be something else. */
  changed(upstream: string, what: Exclude<Changed, 'tools'>): void {
    const listings = this.#listings.get(upstream);
    if (what === 'prompts') listings?.prompt.changed();
    else [listings?.resource, listings?.resource_template].forEach((listing) => listing?.changed());
  }

  /** What any of them lists may be something else. */
  outdate(): void {
    for (const listings of this.#listings.values()) Object.values(listings).forEach((listing) => listing.changed());
  }

  /** Described once for each list that was read, however often the list is asked for; undefined when it has no digest. */
  #describe(
    of: { kind: ItemKind; upstream: string; namePrefix: string },
    definition: JsonObject,
  ): UpstreamItem | undefined {
    const { kind, upstream, namePrefix } = of;
    const known = this.#described.get(definition);
    if (known !== undefined) return known;
    const upstreamName = definition[LISTINGS[kind].key] as string;
    try {
      const digest = `sha-256:${sha256(canonicalJson(descriptionOf(kind, definition)))}`;
      const item = { kind, upstream, upstreamName, name: `${namePrefix}${upstreamName}`, definition, digest };
      this.#described.set(definition, item);
      return item;
    } catch (err) {
      this.#log.error({ upstream, kind, err }, 'something has no canonical description and is left out');
      return undefined;
    }
  }

  /** Everything of a kind that these upstreams list and that fits, each with the name under which it is known. */
  async #gather(
    kind: ItemKind,
    fits: (name: string) => boolean,
    of: readonly string[] = [...this.#listings.keys()],
  ): Promise<UpstreamItem[]> {
    await Promise.all(of.map(async (upstream) => this.#listings.get(upstream)?.[kind].items()));
    return this.#known(kind, fits, of);
  }

  /** The same for a request that is to be sent: only from lists that are not too old. Throws `ERR_UPSTREAM_LIST_UNAVAILABLE`. */
  async #gatherGood(kind: ItemKind, fits: (name: string) => boolean, of?: readonly string[]): Promise<UpstreamItem[]> {
    const from = new Set((await this.#gather(kind, fits, of)).map(({ upstream }) => upstream));
    await Promise.all([...from].map(async (upstream) => this.#listings.get(upstream)?.[kind].ensureGood()));
    return this.#known(kind, fits, [...from]);
  }

  /** The same of what was listed last, even if it is old. */
  #known(kind: ItemKind, fits: (name: string) => boolean, of: readonly string[]): UpstreamItem[] {
    const { key } = LISTINGS[kind];
    return of.flatMap((upstream) => {
      // An address means what it means wherever it is written, so it has no prefix.
      const namePrefix = kind === 'prompt' ? (this.#upstreams.get(upstream)?.namePrefix ?? '') : '';
      const items = this.#listings.get(upstream)?.[kind].known ?? [];
      return items
        .filter((definition) => fits(`${namePrefix}${definition[key] as string}`))
        .flatMap((definition) => this.#describe({ kind, upstream, namePrefix }, definition) ?? []);
    });
  }

  /**
   * What two upstreams claim belongs to neither: it would be unknown whose was meant when it was allowed. An address that one
   * lists and that another's template fits is no exception, or an upstream could take over what another answers for.
   */
  #soleOwner(claims: readonly UpstreamItem[]): UpstreamItem | undefined {
    const upstreams = [...new Set(claims.map(({ upstream }) => upstream))].sort();
    if (upstreams.length <= 1) return claims[0];
    const key = upstreams.join(' ');
    if (!this.#reported.has(key)) {
      const found = 'these upstreams claim the same name or address; what they share is offered from none of them';
      this.#log.error({ upstreams, name: claims[0]?.name }, found);
    }
    this.#reported.add(key);
    return undefined;
  }
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
