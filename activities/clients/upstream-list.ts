import * as z from 'zod';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';

const MAX_PAGES = 100;

/** Sends one request to the upstream, and answers the result as it came. */
type Ask = (method: string, params: JsonObject) => Promise<unknown>;

/** One kind of thing that an upstream lists: the last list that it gave, every member kept. */
export class UpstreamList {
  /** `undefined` until there was one. */
  items: readonly JsonObject[] | undefined;
  readonly #method: string;
  readonly #member: string;
  readonly #page: z.ZodType<Readonly<Record<string, unknown>> & { readonly nextCursor?: string | undefined }>;
  /** Lists that were asked for, and which of them `items` is. */
  #asked = 0;
  #shown = 0;

  /** `member` of the answers to `method` holds things that have a text at `key`. */
  constructor(method: string, member: string, key: string) {
    this.#method = method;
    this.#member = member;
    this.#page = z.looseObject({
      [member]: z.array(z.looseObject({ [key]: z.string().min(1) })),
      nextCursor: z.string().optional(),
    });
  }

  /**
   * Reads the whole list. A list that was asked for earlier may arrive later: it does not replace the newer one. So
   * whoever asked finds its own list in `items`, or one that was asked for after it. Throws whatever `ask` throws, or a
   * `ZodError` when the answer is no such list.
   */
  async read(ask: Ask): Promise<{ readonly items: readonly JsonObject[]; readonly isNewest: boolean }> {
    const turn = (this.#asked += 1);
    const items: JsonObject[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer = this.#page.parse(await ask(this.#method, cursor === undefined ? {} : { cursor }));
      items.push(...(answer[this.#member] as JsonObject[]));
      cursor = answer.nextCursor;
      if (cursor === undefined) break;
    }
    const isNewest = turn > this.#shown;
    if (isNewest) {
      this.#shown = turn;
      this.items = items;
    }
    return { items, isNewest };
  }
}
