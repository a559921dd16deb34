import type { ServerCapabilities } from '@modelcontextprotocol/client';
import * as z from 'zod';
import type { Clock } from '../../../apps/shared/clock.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';

/** A list whose pages are empty could go on for ever. */
const MAX_PAGES = 1_000;
/** A list is good for so long, in milliseconds, even where its upstream states a shorter time. */
const LEAST_MS = 1_000;
/** A list is good for so many times as long as reading it took: no upstream makes us spend more than a fifth of the time on it. */
export const REST = 4;

interface ListLimits {
  /** Bytes of the whole list. */
  readonly maxMessageBytes: number;
  readonly maxListItems: number;
  /** Seconds after which a list is read anew before it is used. */
  readonly maxListAgeSeconds: number;
}

/** How a kind of item is listed: `member` of the answers to `method` holds items that have a text at `key`. */
export interface Listed {
  readonly method: string;
  readonly member: string;
  readonly key: string;
  /** Of an upstream that has such items. */
  readonly capability: 'tools' | 'prompts' | 'resources';
}

type Ask = (method: string, params: JsonObject) => Promise<unknown>;

type Page = Readonly<Record<string, unknown>> & {
  readonly nextCursor?: string | undefined;
  readonly ttlMs?: number | undefined;
};

/** The last list of one kind of item of an upstream, every member kept, and for how long it is good. */
export class UpstreamList {
  /** `undefined` until there was one. */
  items: readonly JsonObject[] | undefined;
  readonly #listed: Listed;
  readonly #page: z.ZodType<Page>;
  /** Lists that were asked for, and which of them `items` is. */
  #asked = 0;
  #shown = 0;
  readonly #clock: Clock;
  /** Instants of the monotonic clock. */
  #goodUntil = Number.NEGATIVE_INFINITY;
  #changedAt = Number.NEGATIVE_INFINITY;
  /** Equal for equal lists, so that the items of an unchanged list are not described again. */
  #mark = '';
  #reading: Promise<unknown> | undefined;

  constructor(listed: Listed, clock: Clock) {
    this.#listed = listed;
    this.#clock = clock;
    this.#page = z.looseObject({
      [listed.member]: z.array(z.looseObject({ [listed.key]: z.string().min(1) })),
      nextCursor: z.string().optional(),
      // An invalid hint counts as none.
      ttlMs: z.number().nonnegative().optional().catch(undefined),
    });
  }

  /** Whether the list is no older than its upstream and the limits say. */
  get isGood(): boolean {
    return this.#clock.monotonicMs() < this.#goodUntil;
  }

  changed(): void {
    this.#changedAt = this.#clock.monotonicMs();
    this.#goodUntil = Number.NEGATIVE_INFINITY;
  }

  /**
   * Has the list read by `readAnew` unless it is good. Concurrent callers share one reading, which began after they came, or was
   * good when it ended. Rejects as the reading does: then nothing may be sent on the strength of the list.
   */
  async ensureGood(readAnew: () => Promise<unknown>): Promise<void> {
    if (this.isGood) return;
    if (this.#reading !== undefined) {
      await this.#reading;
      if (this.isGood) return;
    }
    this.#reading ??= readAnew().finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  /** The capability for this list. `undefined`: the upstream has no such list. */
  announcedBy(
    capabilities: ServerCapabilities | undefined,
  ): { readonly listChanged?: boolean | undefined } | undefined {
    return capabilities?.[this.#listed.capability];
  }

  /**
   * Reads the whole list; without `ask` it is an empty one. A list that was asked for earlier may arrive later: it does not replace
   * the newer one. So `items` is the caller's own list, or one that was asked for after it. `isNews`: the list differs from the one
   * before. Throws the errors of `ask`, a `ZodError` when the answer is no such list, and an error that names the exceeded limit.
   */
  async read(
    ask: Ask | undefined,
    limits: ListLimits,
  ): Promise<{ readonly items: readonly JsonObject[]; readonly isNews: boolean }> {
    const turn = (this.#asked += 1);
    const asked = this.#clock.monotonicMs();
    const { items, ttlMs } = ask === undefined ? { items: [] } : await this.#readPages(ask, limits);
    const isNewest = turn > this.#shown;
    const mark = sha256(JSON.stringify(items));
    const isNews = isNewest && mark !== this.#mark;
    if (isNews) {
      this.items = items;
      this.#mark = mark;
    }
    if (isNewest) {
      this.#shown = turn;
      const leastMs = Math.max(LEAST_MS, REST * (this.#clock.monotonicMs() - asked));
      const goodForMs = Math.min(limits.maxListAgeSeconds * 1_000, Math.max(leastMs, ttlMs ?? Infinity));
      if (asked > this.#changedAt) this.#goodUntil = asked + goodForMs;
    }
    return { items, isNews };
  }

  /** All of them, or none: an item that is missing in a part of a list would pass for removed. */
  async #readPages(
    ask: Ask,
    limits: ListLimits,
  ): Promise<{ items: readonly JsonObject[]; ttlMs?: number | undefined }> {
    const { method, member } = this.#listed;
    const items: JsonObject[] = [];
    let bytes = 0;
    let pages = 0;
    let cursor: string | undefined;
    let ttlMs: number | undefined;
    do {
      const answer = this.#page.parse(await ask(method, cursor === undefined ? {} : { cursor }));
      for (const item of answer[member] as JsonObject[]) items.push(item);
      bytes += JSON.stringify(answer).length;
      pages += 1;
      this.#check(limits, { items: items.length, bytes, pages });
      cursor = answer.nextCursor;
      // Each page has its own (CACHE-002): the list is as good as the one that is good for the shortest time.
      if (answer.ttlMs !== undefined) ttlMs = Math.min(ttlMs ?? Infinity, answer.ttlMs);
    } while (cursor !== undefined);
    return { items, ttlMs };
  }

  #check(limits: ListLimits, seen: { items: number; bytes: number; pages: number }): void {
    if (seen.items > limits.maxListItems) throw this.#tooLong(`limits.maxListItems (${limits.maxListItems})`);
    if (seen.bytes > limits.maxMessageBytes) throw this.#tooLong(`limits.maxMessageBytes (${limits.maxMessageBytes})`);
    if (seen.pages >= MAX_PAGES) throw this.#tooLong(`${MAX_PAGES} pages`);
  }

  #tooLong(limit: string): Error {
    return new Error(`the answers to ${this.#listed.method} are more than ${limit}`);
  }
}
