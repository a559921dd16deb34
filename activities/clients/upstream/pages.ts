import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamLimits } from './reading.ts';

/** A list whose pages are empty could go on for ever. */
const MAX_PAGES = 1_000;
export type ListLimits = Pick<UpstreamLimits, 'maxMessageBytes' | 'maxListItems' | 'maxListAgeSeconds'>;

export type Ask = (method: string, params: JsonObject) => Promise<unknown>;

export interface Pages {
  readonly entries: readonly unknown[];
  readonly ttlMs?: number | undefined;
  /** Why the list ends where it does, as a sentence. */
  readonly fault?: string;
}

/** All pages, or none: an item that is missing in a part of a list would pass for removed. */
export async function readPages(
  { method, member }: { readonly method: string; readonly member: string },
  ask: Ask,
  limits: ListLimits,
): Promise<Pages> {
  const entries: unknown[] = [];
  const cursors = new Set<string>();
  let [bytes, pages] = [0, 0];
  let cursor: string | undefined;
  let ttlMs: number | undefined;
  for (;;) {
    const answer = (await ask(method, cursor === undefined ? {} : { cursor })) as Readonly<
      Record<string, unknown>
    > | null;
    const of = answer?.[member];
    if (answer === null || !Array.isArray(of)) throw new Error(`the answer to ${method} has no list "${member}"`);
    entries.push(...(of as readonly unknown[]));
    bytes += JSON.stringify(answer).length;
    pages += 1;
    const exceeded = exceededLimit(limits, { items: entries.length, bytes, pages });
    if (exceeded !== undefined) throw new Error(`the answers to ${method} are more than ${exceeded}`);
    const { nextCursor: next, ttlMs: pageMs } = answer;
    // Each page has its own (CACHE-002): the list is as good as the one that is good for the shortest time. An invalid hint counts as none.
    if (typeof pageMs === 'number' && pageMs >= 0) ttlMs = Math.min(ttlMs ?? Infinity, pageMs);
    if (next === undefined || next === null) return { entries, ttlMs };
    if (typeof next !== 'string')
      return { entries, ttlMs, fault: `the next cursor of ${method} is no text, so its list ends there` };
    if (cursors.has(next)) {
      // Many servers write the empty text for no cursor.
      return {
        entries,
        ttlMs,
        ...(next !== '' && { fault: `the cursor of ${method} repeats, so its list ends there` }),
      };
    }
    cursors.add((cursor = next));
  }
}

function exceededLimit(
  { maxListItems, maxMessageBytes }: ListLimits,
  seen: { items: number; bytes: number; pages: number },
): string | undefined {
  if (seen.items > maxListItems) return `limits.maxListItems (${maxListItems})`;
  if (seen.bytes > maxMessageBytes) return `limits.maxMessageBytes (${maxMessageBytes})`;
  return seen.pages >= MAX_PAGES ? `${MAX_PAGES} pages` : undefined;
}
