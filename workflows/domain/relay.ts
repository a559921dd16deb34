import type { JsonObject } from './canonical-json.ts';

/** What goes along with a request whose client can be asked. None of it reaches an upstream of an earlier revision. */
export interface Conversation {
  /** What the client declared of which requests of an upstream can be handed on to it. */
  readonly capabilities: JsonObject;
  /** Its answers, by the key of the question. */
  readonly inputResponses?: JsonObject;
  /** The upstream's own state of the round that is answered. */
  readonly requestState?: string;
}

/** One thing that an upstream asks, every member kept. */
export type InputRequest = JsonObject & { readonly method: string };

/** An upstream's answer that wants input, or only wants to be asked again. @see SEP-2322, input required */
export interface UpstreamRound {
  readonly kind: 'input_required';
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  /** Opaque: only the upstream reads it. */
  readonly requestState?: string;
  readonly meta?: JsonObject;
}

/** A task of an upstream, every member kept. What belongs to its status alone is there in that status alone. */
export type UpstreamTask = JsonObject & {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'cancelled' | 'failed';
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from `createdAt`; `null` for ever. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
  /** Of a task that is completed. */
  readonly result?: JsonObject;
  /** Of a task that has failed. */
  readonly error?: JsonObject & { readonly code: number; readonly message: string };
  /** Of a task that needs input. */
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
};
