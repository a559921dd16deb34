import type { InvocationResult, Unanswered, UpstreamCall, UpstreamCallOptions } from './upstream-ports.ts';
import type { Principal } from './principal.ts';
import type { Conversation, UpstreamRound, UpstreamTask } from './relay.ts';

/** How a call ended whose client waits, and can be asked or hold a task. */
export type RelayedAnswer = InvocationResult | UpstreamRound | { readonly kind: 'task'; readonly task: UpstreamTask };

/** The methods about one task. */
export type TaskMethod = 'tasks/get' | 'tasks/update' | 'tasks/cancel';

/** A request about a task that an upstream opened. */
export interface TaskRequest {
  readonly upstream: string;
  readonly method: TaskMethod;
  /** Its own id of the task. */
  readonly upstreamTaskId: string;
  /** Public name of the tool that was called. */
  readonly tool: string;
  readonly caller: Principal;
  readonly conversation: Conversation;
}

/** How one request about a task of an upstream ended. `done`: it was taken note of. */
export type RelayedTaskAnswer =
  { readonly kind: 'task'; readonly task: UpstreamTask } | { readonly kind: 'done' } | Unanswered;

/** What the upstream MCP servers are asked for a client that waits. Each sends once, and never repeats. */
export interface UpstreamRelay {
  /** A call, as `Upstreams.call` makes it, in which the upstream is told what it may ask, and whether it may open a task. */
  relay(call: UpstreamCall & { conversation: Conversation }, options: UpstreamCallOptions): Promise<RelayedAnswer>;
  task(request: TaskRequest, options: { signal: AbortSignal; timeoutMs?: number }): Promise<RelayedTaskAnswer>;
}
