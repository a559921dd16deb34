import type { ListedTool } from './tool.ts';

/** More tools than this are no signature that anybody could have looked at. */
const MAX_ITEMS = 10_000;

/** What a server answers to `signature`, as far as this library looks. */
export interface AnySignature {
  readonly tools?: unknown;
}

interface Declared {
  readonly name: string;
  readonly annotations?: unknown;
}

/** The answer cannot be a signature, or is longer than anybody could trust. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
}

/** What a server said that it could ever list. Which of its tools are trusted is for the client to say. @see SEP-2091 */
export interface TrustedSignature {
  /**
   * Those of the listed tools that the signature does not have under their name, or not with their annotations: the
   * server promised never to list them. Any part of a signature is a good list, also none of it (SIG-006). A list that
   * was read after the signature changed may have more: read the signature again before you judge.
   */
  outside<Tool extends ListedTool>(listed: readonly Tool[]): readonly Tool[];
}

/** Reads the result of `signature`. Throws a `SignatureError` for what is none. */
export function readSignature({ tools = [] }: AnySignature): TrustedSignature {
  if (!Array.isArray(tools) || tools.length > MAX_ITEMS || !tools.every(isDeclared)) {
    throw new SignatureError(`a signature lists at most ${MAX_ITEMS} tools, each with a name`);
  }
  const profiles = new Map(tools.map(({ name, annotations }) => [name, profilesOf(annotations)]));
  return {
    outside: (listed) =>
      listed.filter(({ name, annotations }) => profiles.get(name)?.includes(formOf(annotations)) !== true),
  };
}

const isDeclared = (tool: unknown): tool is Declared =>
  typeof tool === 'object' && tool !== null && 'name' in tool && typeof tool.name === 'string';

/** A tool whose annotations depend on who asks declares a list of them (SIG-009). */
const profilesOf = (annotations: unknown): readonly string[] =>
  (Array.isArray(annotations) ? annotations : [annotations]).map(formOf);

/** Equal for equal annotations, in whatever order their members are. None are the same as empty ones. */
function formOf(annotations: unknown): string {
  const members = Object.entries((annotations ?? {}) as Record<string, unknown>);
  return JSON.stringify(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}
