import { LRUCache } from 'lru-cache';

/** Cedar's answer to one request. */
export type CedarAnswer =
  /** `policies` are the ids of the determining policies, sorted. */
  | { readonly kind: 'allow' | 'deny'; readonly policies: readonly string[] }
  /** Cedar could not evaluate something. It skips a policy that errors, and skipping a forbid permits. So this is a denial. */
  | { readonly kind: 'failed'; readonly cause: string };

/** Characters of all keys together, and of one key at most. */
const MAX_CHARS = 8 * 1024 * 1024;
const MAX_KEY_CHARS = 16 * 1024;
const MAX_ENTRIES = 20_000;

/** Answers of one version of the policies. */
export interface DecisionCache {
  /** The cached answer for this key, or else what `evaluate` returns. Does not cache failures: a repeat may succeed. */
  get(key: string, evaluate: () => CedarAnswer): CedarAnswer;
}

/**
 * Caches Cedar's answers by the whole request. An answer depends on the request and the policies alone: Cedar has no clock,
 * no randomness and no memory.
 */
export function createDecisionCache(): DecisionCache {
  const cached = new LRUCache<string, CedarAnswer>({
    max: MAX_ENTRIES,
    maxSize: MAX_CHARS,
    maxEntrySize: MAX_KEY_CHARS,
    sizeCalculation: (_answer, key) => key.length + 1,
  });
  return {
    get(key, evaluate) {
      const known = cached.get(key);
      if (known !== undefined) return known;
      const answer = evaluate();
      if (answer.kind !== 'failed') cached.set(key, answer);
      return answer;
    },
  };
}
