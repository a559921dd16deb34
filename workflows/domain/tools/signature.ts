import { canonicalJson, type Json, type JsonObject } from '../canonical-json.ts';
import type { Sha256 } from '../gated-call/call-binding.ts';
import { ownMember } from '../own-member.ts';
import type { UpstreamTool } from '../ports.ts';
import { refusalOf, toolFacts, type ToolSettings } from './tool-facts.ts';

/**
 * How a tool gets into the signature: with `first-seen` as it is described when it is first seen, with `accepted` when the
 * operator says so. One that is in it changes by the operator's word alone, in either case.
 */
export const PINNINGS = ['first-seen', 'accepted'] as const;
export type Pinning = (typeof PINNINGS)[number];

/** A tool as it was accepted. What its upstream says of it later counts when it says exactly this. */
export type PinnedTool = Omit<UpstreamTool, 'facts'>;

/** Tells tools that may be used from those that may not. Throws `ERR_DATABASE_UNAVAILABLE` when that cannot be known. */
export interface AcceptedTools {
  /** Those of the tools that are described as it was accepted, in their order. */
  among(tools: readonly UpstreamTool[]): Promise<readonly UpstreamTool[]>;
}

/** The tools that were accepted, as they are stored. Throws `ERR_DATABASE_UNAVAILABLE`. */
export interface ToolPins {
  all(): Promise<readonly PinnedTool[]>;
  /** Pins those whose name is not pinned yet. What is pinned stays as it is. */
  add(tools: readonly PinnedTool[]): Promise<void>;
}

/** Whether it is this tool that was accepted, and as it is described now. */
export const isAsPinned = (tool: PinnedTool, pinned: Omit<PinnedTool, 'definition'> | undefined): boolean =>
  pinned !== undefined &&
  tool.name === pinned.name &&
  tool.upstream === pinned.upstream &&
  tool.upstreamTool === pinned.upstreamTool &&
  tool.digest === pinned.digest;

/** Far more than any tool has, and no more than an index of the database takes. */
const MAX_NAME_LENGTH = 256;

/** Whether a tool can be pinned at all. A name that the database does not take must not keep others from being pinned. */
export const canBePinned = ({ name, upstreamTool }: PinnedTool): boolean =>
  name.length <= MAX_NAME_LENGTH && ![name, upstreamTool].some((text) => text.includes('\0'));

/** What of the configuration a signature depends on. */
export interface SignatureSettings {
  /** The upstreams, by their names. */
  readonly mcpServers: Readonly<Record<string, unknown>>;
  /** What the operator says of tools, by their public names. */
  readonly tools: Readonly<Record<string, ToolSettings>>;
}

/**
 * Everything that any list may have, whoever asks and whatever can be reached: the pinned tools with what is known of them.
 * What is pinned of an upstream that is not configured any more can be listed to nobody, and neither can a tool that is refused.
 * @see SEP-2091 (SIG-004, SIG-012)
 */
export function toolsInSignature(
  pinned: readonly PinnedTool[],
  { mcpServers, tools: settings }: SignatureSettings,
): readonly UpstreamTool[] {
  return pinned
    .filter(({ upstream }) => Object.hasOwn(mcpServers, upstream))
    .map((pin) => ({ ...pin, facts: toolFacts(pin.definition, ownMember(settings, pin.name)) }))
    .filter(({ facts }) => refusalOf(facts) === undefined);
}

/** A signature as it is published. */
export interface SignatureDocument {
  /** RFC 8785 text: the same for the same tools, wherever and in whatever order they were found. */
  readonly text: string;
  /** SHA-256 of exactly these bytes. @see SEP-2091 (SIG-019) */
  readonly digest: string;
}

/** The document with these tools in it, as they are published. Prompts and resources are listed to nobody. */
export function signatureDocument(published: readonly JsonObject[], sha256: Sha256): SignatureDocument {
  const tools = [...published].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const text = canonicalJson({ tools, prompts: [], resources: [], resourceTemplates: [] });
  return { text, digest: `sha-256:${sha256(text)}` };
}

const nameOf = ({ name }: JsonObject): string => (typeof name === 'string' ? name : '');

/** Where what is listed departs from what is pinned. */
export interface Drift {
  readonly kind: 'new' | 'changed' | 'gone';
  /** Public name of the tool. */
  readonly name: string;
  /** What of it is not as it was accepted: members of its description, or `upstream`. None for a tool that is new or gone. */
  readonly members: readonly string[];
  readonly pinned?: PinnedTool;
  readonly listed?: PinnedTool;
}

/**
 * Everything that an operator would accept, by name. A pinned tool is gone when its upstream is not among those that may
 * still have it, which are those that cannot be asked now, and it is not listed.
 */
export function driftOf(
  pinned: readonly PinnedTool[],
  listed: readonly PinnedTool[],
  mayStillHave: (upstream: string) => boolean,
): readonly Drift[] {
  const pins = new Map(pinned.map((pin) => [pin.name, pin]));
  const names = new Set(listed.map(({ name }) => name));
  const found = listed.flatMap((tool): Drift[] => {
    const pin = pins.get(tool.name);
    if (pin === undefined) return [{ kind: 'new', name: tool.name, members: [], listed: tool }];
    if (isAsPinned(tool, pin)) return [];
    return [{ kind: 'changed', name: tool.name, members: changedMembers(pin, tool), pinned: pin, listed: tool }];
  });
  const gone = pinned
    .filter(({ name, upstream }) => !names.has(name) && !mayStillHave(upstream))
    .map((pin): Drift => ({ kind: 'gone', name: pin.name, members: [], pinned: pin }));
  return [...found, ...gone].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function changedMembers(pin: PinnedTool, tool: PinnedTool): readonly string[] {
  const keys = [...new Set([...Object.keys(pin.definition), ...Object.keys(tool.definition)])].sort();
  const textOf = (value: Json | undefined) => (value === undefined ? undefined : canonicalJson(value));
  const changed = keys.filter((key) => textOf(pin.definition[key]) !== textOf(tool.definition[key]));
  return [...(pin.upstream === tool.upstream ? [] : ['upstream']), ...changed];
}
