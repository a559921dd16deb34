import { canonicalJson, type Json, type JsonObject, objectOf, ownProperty } from '../canonical-json.ts';
import { ITEM_KINDS, type UpstreamItem, type UpstreamThing, type UpstreamTool } from '../upstream-ports.ts';
import type { Sha256 } from '../gated-call/call-binding.ts';
import { refusalOf, toolFacts, type ToolSettings } from './tool-facts.ts';

export const DESCRIBED_KINDS = ['tool', ...ITEM_KINDS] as const;
export type DescribedKind = (typeof DESCRIBED_KINDS)[number];

export type Listed = UpstreamTool | UpstreamItem;

/**
 * A description as it was accepted, with the accepted part of the definition (`descriptionOf`). A later description of the upstream counts
 * only when it is exactly this.
 */
export type AcceptedDescription = UpstreamThing & DescribedName;

/** Names one accepted description. Things of one kind have different public names; things of different kinds need not. */
export interface DescribedName {
  readonly kind: DescribedKind;
  readonly name: string;
}

/** Tells usable things from others. Throws `ERR_DATABASE_UNAVAILABLE` when that cannot be known. */
export interface Accepted {
  /** Those of the things that are described as it was accepted, in their order. */
  among<Thing extends Listed>(things: readonly Thing[]): Promise<readonly Thing[]>;
}

/** The stored accepted descriptions. Throws `ERR_DATABASE_UNAVAILABLE`. */
export interface DescriptionStore {
  all(): Promise<readonly AcceptedDescription[]>;
  /**
   * Accepts those whose name has no accepted description yet, in this order and as far as there is room for things of their
   * upstream. Accepted descriptions stay as they are.
   */
  add(descriptions: readonly AcceptedDescription[]): Promise<void>;
}

/** The description of a thing as it is now, as it would be accepted. */
export const asAccepted = ({
  kind,
  name,
  upstream,
  upstreamName,
  definition,
  digest,
}: Listed): AcceptedDescription => ({
  ...{ kind, name, upstream, upstreamName, digest },
  definition: descriptionOf(kind, definition),
});

/** Equal for equal names. A kind has no space in it. */
export const keyOf = ({ kind, name }: DescribedName): string => `${kind} ${name}`;

/** Whether this thing was accepted with its present description. */
export const isAsAccepted = (thing: Listed, accepted: Omit<AcceptedDescription, 'definition'> | undefined): boolean =>
  accepted !== undefined &&
  (['kind', 'name', 'upstream', 'upstreamName', 'digest'] as const).every(
    (member) => thing[member] === accepted[member],
  );

/** Far more than any name has and most addresses have, and no more than an index of the database takes. */
const MAX_NAME_LENGTH = 800;

/** Whether a thing can be accepted at all. A name that the database does not take must not keep others from being accepted. */
export const canBeAccepted = (thing: Listed): boolean =>
  thing.name.length <= MAX_NAME_LENGTH && ![thing.name, thing.upstreamName].some((text) => text.includes('\0'));

/**
 * The part of a definition that describes the thing, and is accepted: everything except the size of its contents and the time of
 * their last change. A server changes those two with the contents, and no decision rests on them. An unknown member counts, since a
 * model may read it. A size that is no number counts as well, and so does a time that is none: otherwise they would be a place for
 * texts that no operator has seen.
 */
export function descriptionOf(kind: DescribedKind, definition: JsonObject): JsonObject {
  if (kind === 'tool' || kind === 'prompt') return definition;
  const { size, annotations, ...rest } = definition;
  return {
    ...rest,
    ...(size !== undefined && typeof size !== 'number' && { size }),
    ...(annotations !== undefined && withoutTime(annotations)),
  };
}

/** ISO 8601 of any precision: no text that could be read as words. */
const TIME = /^[\d\-+:.TZ]{1,40}$/;

function withoutTime(annotations: Json): { readonly annotations?: Json } {
  const { lastModified, ...others } = objectOf(annotations);
  if (typeof lastModified !== 'string' || !TIME.test(lastModified)) return { annotations };
  return Object.keys(others).length > 0 ? { annotations: others } : {};
}

/**
 * How a thing gets into the signature: with `first-seen` by its description when it is first seen, with `accepted` when the
 * operator accepts it. In either case only the operator changes it afterwards.
 */
export const PINNINGS = ['first-seen', 'accepted'] as const;
export type Pinning = (typeof PINNINGS)[number];

export interface SignatureSettings {
  readonly mcpServers: Readonly<Record<string, unknown>>;
  readonly tools: Readonly<Record<string, ToolSettings>>;
}

/** The contents of all lists, for any caller, reachable now or not. */
export interface SignatureContents {
  /** The accepted tools with their facts. */
  readonly tools: readonly UpstreamTool[];
  readonly items: readonly AcceptedDescription[];
}

/**
 * The accepted descriptions that can be listed: those of configured upstreams, without refused tools.
 * @see SEP-2091 (SIG-004, SIG-012)
 */
export function contentsOf(
  accepted: readonly AcceptedDescription[],
  { mcpServers, tools: settings }: SignatureSettings,
): SignatureContents {
  const present = accepted.filter(({ upstream }) => Object.hasOwn(mcpServers, upstream));
  const tools = present
    .filter((one): one is AcceptedDescription & { readonly kind: 'tool' } => one.kind === 'tool')
    .map((one) => ({ ...one, facts: toolFacts(one.definition, ownProperty(settings, one.name)) }))
    .filter(({ facts }) => refusalOf(facts) === undefined);
  return { tools, items: present.filter(({ kind }) => kind !== 'tool') };
}

export interface SignatureDocument {
  /** RFC 8785 text: the same for the same things, found anywhere and in any order. */
  readonly text: string;
  /** SHA-256 of exactly these bytes. @see SEP-2091 (SIG-019) */
  readonly digest: string;
}

/** The lists of a signature, with the member that tells the things of each apart. @see SEP-2091 (SIG-002) */
const LISTS = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' } as const;

export type Published = Readonly<Record<keyof typeof LISTS, readonly JsonObject[]>>;

export function signatureDocument(published: Published, sha256: Sha256): SignatureDocument {
  const lists = Object.entries(LISTS).map(([list, key]) => [
    list,
    sortedBy(key, published[list as keyof typeof LISTS]),
  ]);
  const text = canonicalJson(Object.fromEntries(lists) as JsonObject);
  return { text, digest: `sha-256:${sha256(text)}` };
}

function sortedBy(key: string, things: readonly JsonObject[]): readonly JsonObject[] {
  const textOf = ({ [key]: value }: JsonObject): string => (typeof value === 'string' ? value : '');
  return [...things].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

/** A difference between a listed and an accepted description. */
export interface Drift extends DescribedName {
  readonly change: 'new' | 'changed' | 'gone';
  /** The changed members of its description, or `upstream`. Empty for a new or missing thing. */
  readonly members: readonly string[];
  readonly accepted?: AcceptedDescription;
  readonly listed?: AcceptedDescription;
}

/**
 * All differences that an operator would accept, by name. An accepted thing that is not listed is gone, unless its upstream cannot
 * be asked now and may still have it.
 */
export function driftOf(
  accepted: readonly AcceptedDescription[],
  listed: readonly Listed[],
  mayStillHave: (upstream: string, kind: DescribedKind) => boolean,
): readonly Drift[] {
  const acceptedByKey = new Map(accepted.map((one) => [keyOf(one), one]));
  const keys = new Set(listed.map(keyOf));
  const found = listed.flatMap((thing): Drift[] => {
    const { kind, name } = thing;
    const before = acceptedByKey.get(keyOf(thing));
    const now = asAccepted(thing);
    if (before === undefined) return [{ kind, name, change: 'new', members: [], listed: now }];
    if (isAsAccepted(thing, before)) return [];
    return [{ kind, name, change: 'changed', members: changedMembers(before, now), accepted: before, listed: now }];
  });
  const gone = accepted
    .filter((one) => !keys.has(keyOf(one)) && !mayStillHave(one.upstream, one.kind))
    .map((one): Drift => ({ kind: one.kind, name: one.name, change: 'gone', members: [], accepted: one }));
  return [...found, ...gone].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function changedMembers(before: AcceptedDescription, now: AcceptedDescription): readonly string[] {
  const keys = [...new Set([...Object.keys(before.definition), ...Object.keys(now.definition)])].sort();
  const textOf = (value: Json | undefined) => (value === undefined ? undefined : canonicalJson(value));
  const changed = keys.filter((key) => textOf(before.definition[key]) !== textOf(now.definition[key]));
  return [...(before.upstream === now.upstream ? [] : ['upstream']), ...changed];
}
