import type { ListedTool } from './answer.ts';

/**
 * What a signature lists: the member that tells the things of a list apart, and how many of them there may be. More are no
 * signature that anybody could have looked at; resources are looked at by their templates and their servers.
 */
const LISTS = {
  tools: { key: 'name', max: 10_000 },
  prompts: { key: 'name', max: 10_000 },
  resources: { key: 'uri', max: 100_000 },
  resourceTemplates: { key: 'uriTemplate', max: 10_000 },
} as const;

/** The lists of a server, by the members of its signature. */
export type ListName = keyof typeof LISTS;

/** What a server answers to `signature`, as far as this library looks. */
export type AnySignature = { readonly [List in ListName]?: unknown };

/** What lists have, as far as this library looks. What any MCP client's list methods answer fits. */
export interface ListedThings {
  readonly tools: ListedTool;
  readonly prompts: { readonly name: string };
  readonly resources: { readonly uri: string; readonly annotations?: unknown };
  readonly resourceTemplates: { readonly uriTemplate: string; readonly annotations?: unknown };
}

/** The answer cannot be a signature, or is longer than anybody could trust. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
}

/** What a server said that it could ever list. Which of it is trusted is for the client to say. @see SEP-2091 */
export interface TrustedSignature {
  /**
   * Those of the listed things that the signature does not have under their name or address, or not with their annotations:
   * the server promised never to list them. Any part of a signature is a good list, also none of it (SIG-006). A list that
   * was read after the signature changed may have more: read the signature again before you judge.
   */
  outside<List extends ListName, Thing extends ListedThings[List]>(
    list: List,
    listed: readonly Thing[],
  ): readonly Thing[];
}

/** Reads the result of `signature`. Throws a `SignatureError` for what is none. */
export function readSignature(signature: AnySignature): TrustedSignature {
  const names = Object.keys(LISTS) as ListName[];
  const profiles = new Map(names.map((list) => [list, profilesIn(list, signature[list])]));
  return {
    outside: (list, listed) =>
      listed.filter((thing) => {
        const known = profiles.get(list)?.get(memberOf(thing, LISTS[list].key) as string);
        return known?.includes(formOf(memberOf(thing, 'annotations'))) !== true;
      }),
  };
}

/** The annotations that each thing of a list may have, by its name or address. */
function profilesIn(list: ListName, declared: unknown = []): ReadonlyMap<string, readonly string[]> {
  const { key, max } = LISTS[list];
  const isNamed = (thing: unknown) => typeof memberOf(thing, key) === 'string';
  if (!Array.isArray(declared) || declared.length > max || !declared.every(isNamed)) {
    throw new SignatureError(`a signature has at most ${max} ${list}, each with a ${key}`);
  }
  return new Map(declared.map((thing) => [memberOf(thing, key) as string, profilesOf(memberOf(thing, 'annotations'))]));
}

const memberOf = (thing: unknown, member: string): unknown =>
  typeof thing === 'object' && thing !== null && Object.hasOwn(thing, member)
    ? (thing as Record<string, unknown>)[member]
    : undefined;

/** A tool whose annotations depend on who asks declares a list of them (SIG-009). */
const profilesOf = (annotations: unknown): readonly string[] =>
  (Array.isArray(annotations) ? annotations : [annotations]).map(formOf);

/**
 * Equal for equal annotations, in whatever order their members are. None are the same as empty ones. When the contents of a
 * resource changed is not known in advance, so no signature can promise it.
 */
function formOf(annotations: unknown): string {
  const { lastModified: _time, ...members } = (annotations ?? {}) as Record<string, unknown>;
  return JSON.stringify(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
}
