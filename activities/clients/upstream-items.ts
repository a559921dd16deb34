import type { Logger } from 'pino';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { ItemKind, UpstreamAnswer, UpstreamItem, UpstreamItems } from '../../workflows/domain/ports.ts';
import { candidatesFor, type Mounted } from './mounted.ts';
import { readAnswer } from './upstream-answer.ts';
import { askOnce } from './upstream-ask.ts';
import { LISTINGS, UpstreamListing } from './upstream-listing.ts';
import type { Changed } from './upstream-notices.ts';

/** What several upstreams list beside tools, put together. */
export class JoinedItems implements UpstreamItems {
  readonly #upstreams: ReadonlyMap<string, Mounted>;
  readonly #log: Logger;
  readonly #listings: ReadonlyMap<string, Readonly<Record<ItemKind, UpstreamListing>>>;
  /** Upstreams of which the log says already that they claim the same. */
  readonly #reported = new Set<string>();

  constructor(upstreams: ReadonlyMap<string, Mounted>, log: Logger) {
    this.#upstreams = upstreams;
    this.#log = log;
    this.#listings = new Map(
      [...upstreams].map(([upstream, { connection }]) => {
        const listing = (kind: ItemKind) => new UpstreamListing(connection, kind, log.child({ upstream }));
        return [
          upstream,
          { prompts: listing('prompts'), resources: listing('resources'), templates: listing('templates') },
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
    const named = kind === 'prompts' ? candidatesFor(name, this.#upstreams) : this.#upstreams;
    const candidates = [...named].map(([upstream]) => upstream);
    return this.#soleOwner(await this.#gather(kind, (known) => known === name, candidates));
  }

  async findResource(uri: string): Promise<UpstreamItem | undefined> {
    const [listed, made] = await Promise.all([
      this.#gather('resources', (known) => known === uri),
      this.#gather('templates', (template) => mayBecome(template, uri)),
    ]);
    return this.#soleOwner([...listed, ...made]);
  }

  ask(
    { upstream, method, params, caller }: Parameters<UpstreamItems['ask']>[0],
    options: Parameters<UpstreamItems['ask']>[1],
  ): Promise<UpstreamAnswer> {
    const connection = this.#upstreams.get(upstream)?.connection;
    return askOnce(connection, { method, params }, { ...options, caller }, (raw) => readAnswer(method, raw));
  }

  /** What this upstream lists of it may be something else. */
  changed(upstream: string, what: Exclude<Changed, 'tools'>): void {
    const listings = this.#listings.get(upstream);
    if (what === 'prompts') listings?.prompts.changed();
    else [listings?.resources, listings?.templates].forEach((listing) => listing?.changed());
  }

  /** Everything of a kind that these upstreams list and that fits, each with the name under which it is known. */
  async #gather(
    kind: ItemKind,
    fits: (name: string) => boolean,
    of: readonly string[] = [...this.#listings.keys()],
  ): Promise<UpstreamItem[]> {
    const lists = of.map(async (upstream) => {
      const items = (await this.#listings.get(upstream)?.[kind].items()) ?? [];
      // An address means what it means wherever it is written, so it has no prefix.
      const start = kind === 'prompts' ? (this.#upstreams.get(upstream)?.start ?? '') : '';
      return items
        .map((definition) => describe({ upstream, start }, LISTINGS[kind].key, definition))
        .filter(({ name }) => fits(name));
    });
    return (await Promise.all(lists)).flat();
  }

  /**
   * What two upstreams claim belongs to neither: nobody could know whose was meant when it was allowed. An address that one
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

function describe(
  { upstream, start }: { readonly upstream: string; readonly start: string },
  key: string,
  definition: JsonObject,
): UpstreamItem {
  const upstreamName = definition[key] as string;
  return { upstream, upstreamName, name: `${start}${upstreamName}`, definition };
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
