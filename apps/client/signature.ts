import type { ListedTool } from './answer.ts';

/**
 * The lists of a signature: the key member of their things, and the highest number of things. A person could not review a longer
 * signature. Resources are reviewed by their templates and servers.
 */
const LISTS = {
  tools: { key: 'name', max: 10_000 },
  prompts: { key: 'name', max: 10_000 },
  resources: { key: 'uri', max: 100_000 },
  resourceTemplates: { key: 'uriTemplate', max: 10_000 },
} as const;

/** The lists of a server, by the members of its signature. */
export type ListName = keyof typeof LISTS;

/** The result of `signature`, as far as this library reads it. */
export type AnySignature = { readonly [List in ListName]?: unknown };

/** The things of lists, as far as this library reads them. The results of any MCP client fit. */
export interface ListedThings {
  readonly tools: ListedTool;
  readonly prompts: { readonly name: string };
  readonly resources: { readonly uri: string; readonly annotations?: unknown };
  readonly resourceTemplates: { readonly uriTemplate: string; readonly annotations?: unknown };
}

/** The answer is not a signature, or is too long for a review. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
}

/** Everything that a server declares to list. The client decides which part it trusts. @see SEP-2091 */
export interface TrustedSignature {
  /**
   * Returns the listed things that the signature does not have, by name or address and annotations: the server promised never to
   * list them. A list may have any part of the signature, or be empty (SIG-006). After a change of the signature, a list can have more:
   * read the signature again before you judge.
   */
  outside<List extends ListName, Thing extends ListedThings[List]>(
    list: List,
    listed: readonly Thing[],
  ): readonly Thing[];
}

/** Reads the result of `signature`. Throws a `SignatureError` for any other content. */
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
 * Equal for equal annotations, in any order of their members. Absent and empty annotations are equal. The time of a change is not
 * known in advance, so a signature cannot promise it.
 */
function formOf(annotations: unknown): string {
  const { lastModified: _time, ...members } = (annotations ?? {}) as Record<string, unknown>;
  return JSON.stringify(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
}
