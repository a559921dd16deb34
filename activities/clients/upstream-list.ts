import type { ServerCapabilities } from '@modelcontextprotocol/client';
import * as z from 'zod';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';

/** A list whose pages are empty could go on for ever. */
const MAX_PAGES = 1_000;

interface ListLimits {
  /** Bytes of the whole list. */
  readonly maxMessageBytes: number;
  readonly maxListItems: number;
}

/** How a kind of thing is listed: `member` of the answers to `method` holds things that have a text at `key`. */
export interface Listed {
  readonly method: string;
  readonly member: string;
  readonly key: string;
  /** Of an upstream that has such things. */
  readonly capability: 'tools' | 'prompts' | 'resources';
}

/** Sends one request to the upstream, and answers the result as it came. */
type Ask = (method: string, params: JsonObject) => Promise<unknown>;

/** One kind of thing that an upstream lists: the last list that it gave, every member kept. */
export class UpstreamList {
  /** `undefined` until there was one. */
  items: readonly JsonObject[] | undefined;
  readonly #listed: Listed;
  readonly #page: z.ZodType<Readonly<Record<string, unknown>> & { readonly nextCursor?: string | undefined }>;
  /** Lists that were asked for, and which of them `items` is. */
  #asked = 0;
  #shown = 0;

  constructor(listed: Listed) {
    this.#listed = listed;
    this.#page = z.looseObject({
      [listed.member]: z.array(z.looseObject({ [listed.key]: z.string().min(1) })),
      nextCursor: z.string().optional(),
    });
  }

  /** What an upstream with these capabilities says of this list. `undefined`: it has none. */
  announcedBy(
    capabilities: ServerCapabilities | undefined,
  ): { readonly listChanged?: boolean | undefined } | undefined {
    return capabilities?.[this.#listed.capability];
  }

  /**
   * Reads the whole list; without `ask` it is an empty one. A list that was asked for earlier may arrive later: it does not
   * replace the newer one. So whoever asked finds its own list in `items`, or one that was asked for after it. Throws whatever
   * `ask` throws, a `ZodError` when the answer is no such list, and an error that names the limit when it is too long.
   */
  async read(
    ask: Ask | undefined,
    limits: ListLimits,
  ): Promise<{ readonly items: readonly JsonObject[]; readonly isNewest: boolean }> {
    const turn = (this.#asked += 1);
    const items = ask === undefined ? [] : await this.#readPages(ask, limits);
    const isNewest = turn > this.#shown;
    if (isNewest) {
      this.#shown = turn;
      this.items = items;
    }
    return { items, isNewest };
  }

  /** All of them, or none: what is missing in a part of a list would pass for gone. */
  async #readPages(ask: Ask, limits: ListLimits): Promise<readonly JsonObject[]> {
    const { method, member } = this.#listed;
    const items: JsonObject[] = [];
    let bytes = 0;
    let pages = 0;
    let cursor: string | undefined;
    do {
      const answer = this.#page.parse(await ask(method, cursor === undefined ? {} : { cursor }));
      for (const item of answer[member] as JsonObject[]) items.push(item);
      bytes += JSON.stringify(answer).length;
      pages += 1;
      this.#check(limits, { items: items.length, bytes, pages });
      cursor = answer.nextCursor;
    } while (cursor !== undefined);
    return items;
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
