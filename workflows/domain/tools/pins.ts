import { objectOf, type Json, type JsonObject } from '../canonical-json.ts';
import type { ItemKind, UpstreamItem, UpstreamTool } from '../upstream-ports.ts';

export const ITEM_KINDS = ['prompt', 'resource', 'resource_template'] as const satisfies readonly ItemKind[];
export const PIN_KINDS = ['tool', ...ITEM_KINDS] as const;
export type PinKind = (typeof PIN_KINDS)[number];

/** What upstreams list. */
export type Listed = UpstreamTool | UpstreamItem;

/** Something of an upstream as it was accepted. What its upstream says of it later counts when it says exactly this. */
export interface Pin extends PinName {
  readonly upstream: string;
  /** The upstream's own name, address or template. */
  readonly upstreamName: string;
  /** What of it was accepted: of a tool everything, of others their `descriptionOf`. */
  readonly definition: JsonObject;
  /** Digest over the definition. */
  readonly digest: string;
}

/** Which pin it is: the things of one kind have different public names, those of different kinds need not. */
export interface PinName {
  readonly kind: PinKind;
  readonly name: string;
}

/** Tells what may be used from what may not. Throws `ERR_DATABASE_UNAVAILABLE` when that cannot be known. */
export interface Accepted {
  /** Those of the things that are described as it was accepted, in their order. */
  among<Thing extends Listed>(things: readonly Thing[]): Promise<readonly Thing[]>;
}

/** What was accepted, as it is stored. Throws `ERR_DATABASE_UNAVAILABLE`. */
export interface Pins {
  all(): Promise<readonly Pin[]>;
  /**
   * Pins those whose name is not pinned yet, in this order and as far as there is room for things of their upstream. What is
   * pinned stays as it is.
   */
  add(pins: readonly Pin[]): Promise<void>;
}

const kindOf = (thing: Listed): PinKind => ('kind' in thing ? thing.kind : 'tool');
const upstreamNameOf = (thing: Listed): string => ('kind' in thing ? thing.upstreamName : thing.upstreamTool);

/** The pin of a thing as it is described now. */
export const pinOf = (thing: Listed): Pin => ({
  kind: kindOf(thing),
  name: thing.name,
  upstream: thing.upstream,
  upstreamName: upstreamNameOf(thing),
  definition: 'kind' in thing ? descriptionOf(thing.kind, thing.definition) : thing.definition,
  digest: thing.digest,
});

export const pinNameOf = (thing: Listed): PinName => ({ kind: kindOf(thing), name: thing.name });

/** Equal for equal names. A kind has no space in it. */
export const keyOf = ({ kind, name }: PinName): string => `${kind} ${name}`;

/** Whether it is this thing that was accepted, and as it is described now. */
export const isAsPinned = (thing: Listed, pin: Omit<Pin, 'definition'> | undefined): boolean =>
  pin !== undefined &&
  kindOf(thing) === pin.kind &&
  thing.name === pin.name &&
  thing.upstream === pin.upstream &&
  upstreamNameOf(thing) === pin.upstreamName &&
  thing.digest === pin.digest;

/** Far more than any name has and most addresses have, and no more than an index of the database takes. */
const MAX_NAME_LENGTH = 800;

/** Whether a thing can be pinned at all. A name that the database does not take must not keep others from being pinned. */
export const canBePinned = (thing: Listed): boolean =>
  thing.name.length <= MAX_NAME_LENGTH && ![thing.name, upstreamNameOf(thing)].some((text) => text.includes('\0'));

/**
 * What of a definition describes the thing, and is accepted: everything but how large its contents are and when they
 * changed. A server says those two anew whenever its contents are others, and nobody decides by them. A member that we do
 * not know counts, since a model may read it; and a size that is no number, or a time that is none, counts as well, or
 * there would be a place for texts that nobody has looked at.
 */
export function descriptionOf(kind: ItemKind, definition: JsonObject): JsonObject {
  if (kind === 'prompt') return definition;
  const { size, annotations, ...rest } = definition;
  return {
    ...rest,
    ...(size !== undefined && typeof size !== 'number' && { size }),
    ...(annotations !== undefined && withoutTime(annotations)),
  };
}

/** ISO 8601, whatever the precision: nothing that could be read as words. */
const TIME = /^[\d\-+:.TZ]{1,40}$/;

function withoutTime(annotations: Json): { readonly annotations?: Json } {
  const { lastModified, ...others } = objectOf(annotations);
  if (typeof lastModified !== 'string' || !TIME.test(lastModified)) return { annotations };
  return Object.keys(others).length > 0 ? { annotations: others } : {};
}
