import { canonicalJson, type Json, type JsonObject } from '../canonical-json.ts';
import type { Sha256 } from '../gated-call/call-binding.ts';
import { ownMember } from '../own-member.ts';
import type { UpstreamTool } from '../upstream-ports.ts';
import { isAsPinned, keyOf, pinNameOf, pinOf, type Listed, type Pin, type PinKind, type PinName } from './pins.ts';
import { refusalOf, toolFacts, type ToolSettings } from './tool-facts.ts';

/**
 * How a thing gets into the signature: with `first-seen` as it is described when it is first seen, with `accepted` when the
 * operator says so. One that is in it changes by the operator's word alone, in either case.
 */
export const PINNINGS = ['first-seen', 'accepted'] as const;
export type Pinning = (typeof PINNINGS)[number];

/** Tells tools that may be used from those that may not. Throws `ERR_DATABASE_UNAVAILABLE` when that cannot be known. */
export interface AcceptedTools {
  /** Those of the tools that are described as it was accepted, in their order. */
  among(tools: readonly UpstreamTool[]): Promise<readonly UpstreamTool[]>;
}

/** What of the configuration a signature depends on. */
export interface SignatureSettings {
  /** The upstreams, by their names. */
  readonly mcpServers: Readonly<Record<string, unknown>>;
  /** What the operator says of tools, by their public names. */
  readonly tools: Readonly<Record<string, ToolSettings>>;
}

/** Everything that any list may have, whoever asks and whatever can be reached. */
export interface SignatureContents {
  /** The pinned tools with what is known of them. */
  readonly tools: readonly UpstreamTool[];
  /** Whatever is pinned beside tools. */
  readonly items: readonly Pin[];
}

/**
 * What is pinned of an upstream that is not configured any more can be listed to nobody, and neither can a tool that is refused.
 * @see SEP-2091 (SIG-004, SIG-012)
 */
export function contentsOf(
  pinned: readonly Pin[],
  { mcpServers, tools: settings }: SignatureSettings,
): SignatureContents {
  const present = pinned.filter(({ upstream }) => Object.hasOwn(mcpServers, upstream));
  const tools = present
    .filter(({ kind }) => kind === 'tool')
    .map(({ kind: _tool, upstreamName: upstreamTool, ...pin }) => ({
      ...pin,
      upstreamTool,
      facts: toolFacts(pin.definition, ownMember(settings, pin.name)),
    }))
    .filter(({ facts }) => refusalOf(facts) === undefined);
  return { tools, items: present.filter(({ kind }) => kind !== 'tool') };
}

/** A signature as it is published. */
export interface SignatureDocument {
  /** RFC 8785 text: the same for the same things, wherever and in whatever order they were found. */
  readonly text: string;
  /** SHA-256 of exactly these bytes. @see SEP-2091 (SIG-019) */
  readonly digest: string;
}

/** The lists of a signature, with the member that tells the things of each apart. @see SEP-2091 (SIG-002) */
const LISTS = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' } as const;

/** Whatever is in a signature, as it is published. */
export type Published = Readonly<Record<keyof typeof LISTS, readonly JsonObject[]>>;

/** The document with these things in it. */
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

/** Where what is listed departs from what is pinned. */
export interface Drift extends PinName {
  readonly change: 'new' | 'changed' | 'gone';
  /** What of it is not as it was accepted: members of its description, or `upstream`. None for what is new or gone. */
  readonly members: readonly string[];
  readonly pinned?: Pin;
  readonly listed?: Pin;
}

/**
 * Everything that an operator would accept, by name. What is pinned and not listed is gone, unless its upstream may still have
 * things of this kind: it cannot be asked now.
 */
export function driftOf(
  pinned: readonly Pin[],
  listed: readonly Listed[],
  mayStillHave: (upstream: string, kind: PinKind) => boolean,
): readonly Drift[] {
  const pins = new Map(pinned.map((pin) => [keyOf(pin), pin]));
  const keys = new Set(listed.map((thing) => keyOf(pinNameOf(thing))));
  const found = listed.flatMap((thing): Drift[] => {
    const name = pinNameOf(thing);
    const pin = pins.get(keyOf(name));
    if (pin === undefined) return [{ ...name, change: 'new', members: [], listed: pinOf(thing) }];
    if (isAsPinned(thing, pin)) return [];
    const now = pinOf(thing);
    return [{ ...name, change: 'changed', members: changedMembers(pin, now), pinned: pin, listed: now }];
  });
  const gone = pinned
    .filter((pin) => !keys.has(keyOf(pin)) && !mayStillHave(pin.upstream, pin.kind))
    .map((pin): Drift => ({ kind: pin.kind, name: pin.name, change: 'gone', members: [], pinned: pin }));
  return [...found, ...gone].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function changedMembers(pin: Pin, now: Pin): readonly string[] {
  const keys = [...new Set([...Object.keys(pin.definition), ...Object.keys(now.definition)])].sort();
  const textOf = (value: Json | undefined) => (value === undefined ? undefined : canonicalJson(value));
  const changed = keys.filter((key) => textOf(pin.definition[key]) !== textOf(now.definition[key]));
  return [...(pin.upstream === now.upstream ? [] : ['upstream']), ...changed];
}
