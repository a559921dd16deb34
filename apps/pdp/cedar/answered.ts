import { LRUCache } from 'lru-cache';

/** What Cedar says of one question. */
export type EngineAnswer =
  /** `policies` are the ids of the determining policies, sorted. */
  | { readonly kind: 'allow' | 'deny'; readonly policies: readonly string[] }
  /** Something could not be evaluated. Cedar skips a policy that errors, and a skipped forbid permits: so this is a denial. */
  | { readonly kind: 'failed'; readonly cause: string };

/** Characters of questions that are kept, and the most of one. */
const KEPT = 8 * 1024 * 1024;
const LONGEST = 16 * 1024;
const MOST = 20_000;

/** Answers of one version of the policies. */
export interface Answered {
  /** The answer to what Cedar would be asked, which is asked when nothing that says the same was before. */
  answer(question: string, ask: () => EngineAnswer): EngineAnswer;
}

/**
 * Keeps what Cedar answered. An answer depends on its question and the policies alone: Cedar has no clock, no chance and
 * no memory. A failure is not kept, since whoever asks again may be luckier.
 */
export function createAnswered(): Answered {
  const known = new LRUCache<string, EngineAnswer>({
    max: MOST,
    maxSize: KEPT,
    maxEntrySize: LONGEST,
    sizeCalculation: (_answer, question) => question.length + 1,
  });
  return {
    answer(question, ask) {
      const before = known.get(question);
      if (before !== undefined) return before;
      const answer = ask();
      if (answer.kind !== 'failed') known.set(question, answer);
      return answer;
    },
  };
}
