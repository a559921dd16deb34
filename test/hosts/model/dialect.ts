import type { Reply, Turn } from './turn.ts';

/** How a vendor's models are asked, and answer. */
export interface Dialect {
  readonly path: RegExp;
  readonly read: (body: Record<string, unknown>) => Turn;
  /** The answer as a whole. `body`: the request. */
  readonly whole: (reply: Reply, body: Record<string, unknown>) => object;
  /** The same answer as events, each with its data. */
  readonly events: (reply: Reply, body: Record<string, unknown>) => readonly SentEvent[];
  /** Whether the request asks for events. */
  readonly streams: (path: string, body: Record<string, unknown>) => boolean;
}

export interface SentEvent {
  /** Some vendors name their events. */
  readonly event?: string;
  readonly data: object | string;
}

/** An id of this model: the same in each answer, since nothing compares ids of different answers. */
export const newId = (() => {
  let count = 0;
  return (prefix: string) => `${prefix}${(count += 1)}`;
})();
