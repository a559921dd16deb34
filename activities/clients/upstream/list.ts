import * as z from 'zod';
import type { Clock } from '../../../apps/shared/clock.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import type { UpstreamLimits } from './reading.ts';

/** A list whose pages are empty could go on for ever. */
const MAX_PAGES = 1_000;
/** A list is good for so long, in milliseconds, even where its upstream states a shorter time. */
const LEAST_MS = 1_000;
/** A list is good for so many times as long as reading it took: no upstream makes us spend more than a fifth of the time on it. */
export const REST = 4;

type ListLimits = Pick<UpstreamLimits, 'maxMessageBytes' | 'maxListItems' | 'maxListAgeSeconds'>;

/** How a kind of item is listed: `member` of the answers to `method` holds items that have a text at `key`. */
export interface Listed {
  readonly method: string;
  readonly member: string;
  readonly key: string;
  /** Of an upstream that has such items. */
  readonly capability: 'tools' | 'prompts' | 'resources';
}

type Ask = (method: string, params: JsonObject) => Promise<unknown>;

/** The last list of one kind of item of an upstream, every member kept, and for how long it is good. */
export type UpstreamList = ReturnType<typeof createList>;

export function createList(listed: Listed, clock: Clock) {
  let items: readonly JsonObject[] | undefined;
  /** Lists that were asked for, and which of them `items` is. */
  let [asked, shown] = [0, 0];
  /** Instants of the monotonic clock. */
  let [goodUntil, changedAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  /** Equal for equal lists, so that the items of an unchanged list are not described again. */
  let mark = '';
  /** Whether the list is no older than its upstream and the limits say. */
  const isGood = () => clock.monotonicMs() < goodUntil;

  return {
    listed,
    isGood,
    /** `undefined` until there was a list. */
    items: () => items,
    changed(): void {
      changedAt = clock.monotonicMs();
      goodUntil = Number.NEGATIVE_INFINITY;
    },

    ensureGood: shareReading(isGood),

    /**
     * Reads the whole list; without `ask` it is an empty one. A list that was asked for earlier may arrive later: it does not replace
     * the newer one. So `items` is the caller's own list, or one that was asked for after it. `isNews`: the list differs from the one
     * before. Throws the errors of `ask`, a `ZodError` when the answer is no such list, and an error that names the exceeded limit.
     */
    async read(ask: Ask | undefined, limits: ListLimits) {
      const turn = (asked += 1);
      const askedAt = clock.monotonicMs();
      const { items: found, ttlMs } = ask === undefined ? { items: [] } : await readPages(listed, ask, limits);
      const isNewest = turn > shown;
      const markNow = sha256(JSON.stringify(found));
      const isNews = isNewest && markNow !== mark;
      if (isNews) [items, mark] = [found, markNow];
      if (isNewest) {
        shown = turn;
        const leastMs = Math.max(LEAST_MS, REST * (clock.monotonicMs() - askedAt));
        const goodForMs = Math.min(limits.maxListAgeSeconds * 1_000, Math.max(leastMs, ttlMs ?? Infinity));
        if (askedAt > changedAt) goodUntil = askedAt + goodForMs;
      }
      return { items: found, isNews };
    },
  };
}

/**
 * Has the list read by `readAnew` unless it is good. Concurrent callers share one reading, which began after they came, or was
 * good when it ended. Rejects as the reading does: then nothing may be sent on the strength of the list.
 */
function shareReading(isGood: () => boolean) {
  let reading: Promise<unknown> | undefined;
  return async (readAnew: () => Promise<unknown>): Promise<void> => {
    if (isGood()) return;
    if (reading !== undefined) {
      await reading;
      if (isGood()) return;
    }
    reading ??= readAnew().finally(() => (reading = undefined));
    await reading;
  };
}

/** All pages, or none: an item that is missing in a part of a list would pass for removed. */
async function readPages(
  { method, member, key }: Listed,
  ask: Ask,
  limits: ListLimits,
): Promise<{ items: readonly JsonObject[]; ttlMs?: number | undefined }> {
  const page = z.looseObject({
    [member]: z.array(z.looseObject({ [key]: z.string().min(1) })),
    nextCursor: z.string().optional(),
    // An invalid hint counts as none.
    ttlMs: z.number().nonnegative().optional().catch(undefined),
  }) as z.ZodType<Readonly<Record<string, unknown>> & { nextCursor?: string; ttlMs?: number }>;
  const items: JsonObject[] = [];
  let bytes = 0;
  let pages = 0;
  let cursor: string | undefined;
  let ttlMs: number | undefined;
  do {
    const answer = page.parse(await ask(method, cursor === undefined ? {} : { cursor }));
    for (const item of answer[member] as JsonObject[]) items.push(item);
    bytes += JSON.stringify(answer).length;
    pages += 1;
    const exceeded = exceededLimit(limits, { items: items.length, bytes, pages });
    if (exceeded !== undefined) throw new Error(`the answers to ${method} are more than ${exceeded}`);
    cursor = answer.nextCursor;
    // Each page has its own (CACHE-002): the list is as good as the one that is good for the shortest time.
    if (answer.ttlMs !== undefined) ttlMs = Math.min(ttlMs ?? Infinity, answer.ttlMs);
  } while (cursor !== undefined);
  return { items, ttlMs };
}

function exceededLimit(
  { maxListItems, maxMessageBytes }: ListLimits,
  seen: { items: number; bytes: number; pages: number },
): string | undefined {
  if (seen.items > maxListItems) return `limits.maxListItems (${maxListItems})`;
  if (seen.bytes > maxMessageBytes) return `limits.maxMessageBytes (${maxMessageBytes})`;
  return seen.pages >= MAX_PAGES ? `${MAX_PAGES} pages` : undefined;
}
