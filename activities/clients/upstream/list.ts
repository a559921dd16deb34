import type { Clock } from '../../../apps/shared/clock.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import { eachOnce, type Entry, readEntry } from './entries.ts';
import { type Ask, type ListLimits, type Pages, readPages } from './pages.ts';

/** A list is good for so long, in milliseconds, even where its upstream states a shorter time. */
const LEAST_MS = 1_000;
/** A list is good for so many times as long as reading it took: no upstream makes us spend more than a fifth of the time on it. */
export const REST = 4;

/** How a kind of item is listed: `member` of the answers to `method` holds items that have a text at `key`. */
export interface Listed {
  readonly method: string;
  readonly member: string;
  readonly key: string;
  /** Of an upstream that has such items. */
  readonly capability: 'tools' | 'prompts' | 'resources';
}

/** Looks closer at an entry whose form is right. Resolves to its fault. `mayPass`: there may be none the next time. */
type Examine = (definition: JsonObject) => Promise<{ readonly reason: string; readonly mayPass?: true } | undefined>;

/** An entry that cannot be used, under the server's own name, with the reason. */
export interface UnusableEntry {
  readonly name: string;
  readonly reason: string;
}

/** The last list of one kind of item of an upstream, every member kept, and for how long it is good. */
export type UpstreamList = ReturnType<typeof createList>;

export function createList(listed: Listed, clock: Clock, examine: Examine = async () => undefined) {
  let found: Examined | undefined;
  /** Lists that were asked for, and which of them `items` is. */
  let [asked, shown] = [0, 0];
  /** Instants of the monotonic clock. */
  let [goodUntil, changedAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  /** Equal for equal lists, so that the items of an unchanged list are not examined and described again. Empty: they are, once more. */
  let mark = '';
  /** Whether the list is no older than its upstream and the limits say. */
  const isGood = () => clock.monotonicMs() < goodUntil;

  return {
    listed,
    isGood,
    /** `undefined` until there was a list. */
    items: () => found?.items,
    /** What the list has beside its items. */
    unusable: () => found?.unusable ?? [],
    changed(): void {
      changedAt = clock.monotonicMs();
      goodUntil = Number.NEGATIVE_INFINITY;
    },

    ensureGood: shareReading(isGood),

    /**
     * Reads the whole list; without `ask` it is an empty one. A list that was asked for earlier may arrive later: it does not replace
     * the newer one. So `items` is the caller's own list, or one that was asked for after it. `isNews`: the list differs from the one
     * before. Throws the errors of `ask`, an error when the answer is no such list, and one that names the exceeded limit.
     */
    async read(ask: Ask | undefined, limits: ListLimits) {
      const turn = (asked += 1);
      const askedAt = clock.monotonicMs();
      const { entries, ttlMs, fault }: Pages =
        ask === undefined ? { entries: [] } : await readPages(listed, ask, limits);
      const markNow = sha256(JSON.stringify(entries));
      const own = found !== undefined && markNow === mark ? found : await examineAll(entries, { listed, examine });
      const isNewest = turn > shown;
      const isNews = isNewest && own !== found && JSON.stringify(own) !== JSON.stringify(found);
      if (isNewest) {
        [found, shown, mark] = [own, turn, own.isFinal ? markNow : ''];
        const leastMs = Math.max(LEAST_MS, REST * (clock.monotonicMs() - askedAt));
        const goodForMs = Math.min(limits.maxListAgeSeconds * 1_000, Math.max(leastMs, ttlMs ?? Infinity));
        if (askedAt > changedAt) goodUntil = askedAt + goodForMs;
      }
      return { items: own.items, isNews, ...(isNews && fault !== undefined && { fault }) };
    },
  };
}

interface Examined {
  readonly items: readonly JsonObject[];
  readonly unusable: readonly UnusableEntry[];
  /** Whether the same entries need no other look. */
  readonly isFinal: boolean;
}

/** After so many entries of a list took too long to examine, the others wait for the next time. */
const MAX_LATE = 5;
const NOT_EXAMINED = 'other entries of its server take too long to examine';

/** One after another: the schemas of one server are not to keep those of others waiting. */
async function examineAll(
  entries: readonly unknown[],
  { listed, examine }: { readonly listed: Listed; readonly examine: Examine },
): Promise<Examined> {
  const [items, unusable]: [JsonObject[], UnusableEntry[]] = [[], []];
  let late = 0;
  for (const entry of eachOnce(entries.map((raw, index) => readEntry(listed, raw, index)))) {
    const isSkipped = 'definition' in entry && late >= MAX_LATE;
    const known = isSkipped
      ? { name: entry.name, reason: NOT_EXAMINED, mayPass: true }
      : await examined(entry, examine);
    if ('definition' in known) items.push(known.definition);
    else unusable.push(known);
    if ('mayPass' in known) late += 1;
  }
  return { items, unusable, isFinal: late === 0 };
}

async function examined(entry: Entry, examine: Examine): Promise<Entry> {
  const fault = 'definition' in entry ? await examine(entry.definition) : undefined;
  return fault === undefined ? entry : { name: entry.name, ...fault };
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
