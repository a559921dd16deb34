import type { Json, JsonObject } from './canonical-json.ts';
import type { Principal } from './principal.ts';
import type { Conversation, UpstreamRound } from './relay.ts';
import type { ToolFacts } from './tools/tool-facts.ts';

/** A tool as its upstream describes it, every member kept. */
export interface UpstreamTool {
  readonly upstream: string;
  readonly upstreamTool: string;
  /** Public name: prefix, two underscores, the upstream's name. */
  readonly name: string;
  readonly definition: JsonObject;
  /** Digest over the definition: a tool whose meaning changed has another. */
  readonly digest: string;
  /** What is known of it, with the operator's word. */
  readonly facts: ToolFacts;
}

/** Whether a structured result is what the tool's output schema promises. In doubt it is not. */
export type ResultCheck = (tool: Pick<UpstreamTool, 'definition' | 'digest'>, structured: Json) => boolean;

/** How a request to an upstream ended without a result. */
export type Unanswered =
  /** The upstream answered with a JSON-RPC error: it was reached and refused or failed. `isOurs`: the words are not the upstream's. */
  | {
      readonly kind: 'error';
      readonly code: number;
      readonly message: string;
      readonly data?: Json;
      readonly isOurs?: true;
    }
  /** Provably nothing left this process. */
  | { readonly kind: 'not_sent'; readonly cause: string }
  /** It may have arrived; no answer was read. */
  | { readonly kind: 'no_answer'; readonly cause: string };

/** How one invocation of an upstream tool ended. */
export type InvocationResult =
  /** A `CallToolResult` arrived. */
  { readonly kind: 'result'; readonly isError: boolean; readonly result: JsonObject } | Unanswered;

/** How one request for something else than a tool ended. */
export type UpstreamAnswer = { readonly kind: 'result'; readonly result: JsonObject } | UpstreamRound | Unanswered;

/** What an upstream lists beside tools. */
export type ItemKind = 'prompt' | 'resource' | 'resource_template';

/** A prompt, a resource or a resource template as its upstream describes it, every member kept. */
export interface UpstreamItem {
  readonly kind: ItemKind;
  readonly upstream: string;
  /** The upstream's own name, address or template. */
  readonly upstreamName: string;
  /** Public name: a prompt has the prefix of its upstream; an address or a template is the upstream's own. */
  readonly name: string;
  readonly definition: JsonObject;
  /** Digest over what of the definition describes the thing: one whose meaning changed has another. */
  readonly digest: string;
}

/** The methods that a caller may use on them. None of them can wait for an approval. */
export type ReadMethod = 'prompts/get' | 'resources/read' | 'completion/complete';

/** What the upstreams have beside tools. A name, address or template that two upstreams claim belongs to neither. */
export interface UpstreamItems {
  /** Whether an upstream has this capability, or may turn out to have it when it is reached. */
  mayHave(capability: 'prompts' | 'resources' | 'completions'): boolean;
  /** Everything of this kind that can be reached, sorted by name. */
  list(kind: ItemKind): Promise<readonly UpstreamItem[]>;
  /** From a list that is not older than the limit of its upstream. Throws `ERR_UPSTREAM_LIST_UNAVAILABLE`: then nothing may be sent. */
  find(kind: ItemKind, name: string): Promise<UpstreamItem | undefined>;
  /**
   * What one upstream lists under this address; else every template of it from which the address may have been made. Nothing
   * when none has it, or several do. Throws as `find` does.
   */
  findResource(uri: string): Promise<readonly UpstreamItem[]>;
  /** Sends once, and never repeats. */
  ask(
    request: {
      upstream: string;
      method: ReadMethod;
      params: JsonObject;
      caller: Principal;
      /** Without it only a final answer is one. */
      conversation?: Conversation;
    },
    options: { signal: AbortSignal; timeoutMs?: number },
  ): Promise<UpstreamAnswer>;
}

/** How far a call has come, as its tool says. */
export interface Progress {
  /** Grows with every notice. */
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a tool logs while it works, for its caller. */
export interface LogMessage {
  /** A severity of syslog. */
  readonly level: string;
  /** Which part of the tool says so. */
  readonly logger?: string;
  readonly data: Json;
}

/** The upstream MCP servers. */
export interface Upstreams {
  /** Every tool of every upstream that can be reached, under its public name. */
  tools(): Promise<readonly UpstreamTool[]>;
  /**
   * The tool with this public name, from a list that is not older than the limit of its upstream; with `live`, from one that is
   * read now. Throws `ERR_UPSTREAM_UNAVAILABLE` or `ERR_UPSTREAM_LIST_UNAVAILABLE` when there is none: then nothing may be sent.
   */
  find(name: string, options?: { live?: boolean }): Promise<UpstreamTool | undefined>;
  /**
   * Connects first (so that a broken connection is `not_sent`), then sends once; never repeats. `timeoutMs` limits how
   * long the answer is waited for. After `sendBy`, an instant of the monotonic clock, nothing is sent any more. An idempotency key goes along in the header of that name where the upstream is reached
   * by HTTP, and so do the arguments that the tool has repeated there. A tool that is not described by `toolDigest` any more gets nothing.
   * An upstream that wants to know for whom it works is told the caller; a call without one is our own.
   * `onProgress` asks the tool to say how far it has come, and is called until the call has ended. `onLog` asks for what it
   * writes down, and is called with what provably belongs to this call: an upstream that is reached by HTTP says so, a program
   * does not. Only a final result is one: nothing is declared that the upstream could ask, or open a task for.
   */
  call(call: UpstreamCall, options: UpstreamCallOptions): Promise<InvocationResult>;
}

/** One call of an upstream's tool. */
export interface UpstreamCall {
  readonly upstream: string;
  readonly upstreamTool: string;
  /** Of the tool that the call is bound to. A call without one is bound to none. */
  readonly toolDigest?: string;
  readonly arguments: JsonObject;
  readonly caller?: Principal;
  readonly meta?: JsonObject;
  readonly idempotencyKey?: string;
}

export interface UpstreamCallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  readonly sendBy?: number;
  readonly onProgress?: (progress: Progress) => void;
  readonly onLog?: (message: LogMessage) => void;
}
