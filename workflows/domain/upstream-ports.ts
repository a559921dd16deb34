import type { Json, JsonObject } from './canonical-json.ts';
import type { Principal } from './principal.ts';
import type { ToolFacts } from './tools/tool-facts.ts';

/** A thing of an upstream as the upstream describes it, every member kept. */
export interface UpstreamThing {
  readonly upstream: string;
  readonly upstreamName: string;
  /** Public name. Of a tool and a prompt: prefix, two underscores, the upstream's name. An address or a template is the upstream's own. */
  readonly name: string;
  readonly definition: JsonObject;
  /** Digest over the definition of a tool, and the describing part of any other: a thing whose meaning changed has another. */
  readonly digest: string;
  /** The connection that listed it. An upstream whose settings change gets another. Absent where none is known. */
  readonly connection?: number;
}

export interface UpstreamTool extends UpstreamThing {
  readonly kind: 'tool';
  /** Its facts, with the operator's settings. */
  readonly facts: ToolFacts;
}

/** Why nothing was sent: the upstream has another connection than the call names. The call can be found and decided on again. */
export const RECONFIGURED = 'reconfigured';

/** Whether a structured result fits the tool's output schema. In doubt it does not. Never rejects. */
export type ResultCheck = (tool: Pick<UpstreamTool, 'definition'>, structured: Json) => Promise<boolean>;

/** How a request to an upstream ended without a result. */
export type Unanswered =
  /** The upstream answered with a JSON-RPC error: it was reached and refused or failed. `isOurs`: the words are not the upstream's. */
  | {
      readonly kind: 'error';
      readonly code: number;
      readonly message: string;
      readonly data?: Json;
      readonly isOurs?: true;
      /** The client has to open addresses first, which the data names. It declared that it can. */
      readonly namesAddresses?: true;
    }
  /** Provably nothing left this process. */
  | { readonly kind: 'not_sent'; readonly cause: string }
  /** It may have arrived; no answer was read. */
  | { readonly kind: 'no_answer'; readonly cause: string };

/** How one invocation of an upstream tool ended. */
export type InvocationResult =
  | { readonly kind: 'result'; readonly isError: boolean; readonly result: JsonObject }
  | Unanswered;

export type UpstreamAnswer = { readonly kind: 'result'; readonly result: JsonObject } | UpstreamRound | Unanswered;

/** How an upstream lists things beside tools: `member` of the answers to `method` has things of this kind, which have a text at `key`. */
export const ITEM_LISTS = {
  prompt: { method: 'prompts/list', member: 'prompts', key: 'name', capability: 'prompts' },
  resource: { method: 'resources/list', member: 'resources', key: 'uri', capability: 'resources' },
  resource_template: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
  },
} as const;
export type ItemKind = keyof typeof ITEM_LISTS;
export const ITEM_KINDS = Object.keys(ITEM_LISTS) as ItemKind[];

/** A prompt, a resource or a resource template. */
export interface UpstreamItem extends UpstreamThing {
  readonly kind: ItemKind;
}

/** The methods that a caller may use on them. They cannot wait for an approval. */
export const READ_METHODS = ['prompts/get', 'resources/read', 'completion/complete'] as const;
export type ReadMethod = (typeof READ_METHODS)[number];

/** The prompts and resources of the upstreams. A name, address or template that two upstreams claim belongs to neither. */
export interface UpstreamItems {
  /** Whether an upstream has this capability, or may turn out to have it when it is reached. */
  mayHave(capability: 'prompts' | 'resources' | 'completions'): boolean;
  /** Everything of this kind that can be reached, sorted by name. */
  list(kind: ItemKind): Promise<readonly UpstreamItem[]>;
  /** From a list that is not older than the limit of its upstream. Throws `ERR_UPSTREAM_LIST_UNAVAILABLE`: then nothing may be sent. */
  find(kind: ItemKind, name: string): Promise<UpstreamItem | undefined>;
  /**
   * The resource that one upstream lists under this address; else every template of it from which the address may have been made.
   * Empty when no upstream has it, or several do. Throws as `find` does.
   */
  findResource(uri: string): Promise<readonly UpstreamItem[]>;
  /** Whether the upstream announces changes of this resource from now on. A repeated subscription changes nothing. */
  subscribe(upstream: string, uri: string): Promise<boolean>;
  unsubscribe(upstream: string, uri: string): void;
  /** Calls back when a resource with a subscription has changed, or may have changed. Answers how to stop that. */
  onUpdated(listener: (upstream: string, uri: string) => void): () => void;
  /** Sends once, and never repeats. */
  ask(
    request: {
      upstream: string;
      method: ReadMethod;
      params: JsonObject;
      caller: Principal;
      /** Without it only a final answer is one. */
      conversation?: Conversation;
      /** As in a call. */
      connection?: number;
    },
    options: Pick<UpstreamCallOptions, 'signal' | 'timeoutMs' | 'askable'>,
  ): Promise<UpstreamAnswer>;
}

/** How far a call has come, as its tool says. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A log message of a tool while it works, for its caller. */
export interface LogMessage {
  /** A severity of syslog. */
  readonly level: string;
  readonly logger?: string;
  readonly data: Json;
}

export interface Upstreams {
  /** Every tool of every upstream that can be reached, under its public name. */
  tools(): Promise<readonly UpstreamTool[]>;
  /**
   * The tool with this public name, from a list that is not older than the limit of its upstream; with `live`, from one that is
   * read now. Throws `ERR_UPSTREAM_UNAVAILABLE` or `ERR_UPSTREAM_LIST_UNAVAILABLE` when there is none: then nothing may be sent.
   */
  find(name: string, options?: { live?: boolean }): Promise<UpstreamTool | undefined>;
  /**
   * Connects first (so that a broken connection is `not_sent`), then sends once; repeats only what an upstream refused because it
   * lost its session. `timeoutMs` limits the wait for the answer. After `sendBy`, an instant of the monotonic clock, nothing is sent any more. Over HTTP, the idempotency key and the
   * mirrored arguments of the tool go along in headers. A tool whose description no longer has `toolDigest` gets nothing. An
   * upstream that wants a credential of the caller gets one; a call without a caller is our own. `onProgress` asks for progress, and
   * is called until the call has ended. `onLog` asks for log messages, and gets those that provably belong to this call: HTTP
   * proves it, a program cannot. Only a final result counts: no capability is declared for which the upstream could ask or open a
   * task.
   */
  call(call: UpstreamCall, options: UpstreamCallOptions): Promise<InvocationResult>;
}

export interface UpstreamCall {
  readonly upstream: string;
  readonly upstreamTool: string;
  /** Of the tool that the call is bound to. A call without one is bound to none. */
  readonly toolDigest?: string;
  readonly arguments: JsonObject;
  readonly caller?: Principal;
  readonly meta?: JsonObject;
  readonly idempotencyKey?: string;
  /** The only connection that may carry it. Otherwise it is `not_sent`, with the cause `RECONFIGURED`. Default: the present one. */
  readonly connection?: number;
}

/** What an upstream may ask of a client, by the names of the capabilities that clients declare for it. */
export const ASK_KINDS = ['elicitation', 'sampling', 'roots'] as const;
export type AskKind = (typeof ASK_KINDS)[number];

/** What a client said to a question, unchanged. `none`: nothing, for this reason. */
export type ClientAnswer =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data?: Json }
  | { readonly kind: 'none'; readonly why: string };

/** The client of a session. An upstream of an earlier revision may ask it while a request of that client is under way. */
export interface AskableClient {
  /** Of its session: each has connections of its own to the upstreams that may ask. */
  readonly key: string;
  /** To whom the session belongs. */
  readonly caller: Principal;
  /** The relayed capabilities that the client declared. */
  readonly capabilities: JsonObject;
  /** Fires when the session ends or leaves memory, or the gateway stops. */
  readonly closing: AbortSignal;
  /** Asks on the stream of the request. The signal takes the question back. Never rejects. */
  ask(question: InputRequest, signal: AbortSignal): Promise<ClientAnswer>;
  /** Calls back when the client says that its roots have changed. Answers how to stop that. */
  onRootsChanged(listener: () => void): () => void;
  /** Tells the client that what it was asked to do at an address is done. */
  told(elicitationId: string): void;
}

export interface UpstreamCallOptions {
  readonly signal: AbortSignal;
  /** Whom an upstream of an earlier revision may ask, as far as the operator allows it. Default: no one. */
  readonly askable?: AskableClient | undefined;
  readonly timeoutMs?: number;
  readonly sendBy?: number;
  readonly onProgress?: (progress: Progress) => void;
  readonly onLog?: (message: LogMessage) => void;
  /** The lowest severity of these messages, a severity of syslog. Default: `info`. */
  readonly logLevel?: string;
}

/** The additions to a request whose client can be asked. An upstream of an earlier revision gets none: it asks while it works. */
export interface Conversation {
  /** The client's capabilities for requests of an upstream that can be handed on to it. */
  readonly capabilities: JsonObject;
  readonly inputResponses?: JsonObject;
  /** The upstream's own state of the round that is answered. */
  readonly requestState?: string;
}

/** One request of an upstream for input, every member kept. */
export type InputRequest = JsonObject & { readonly method: string };

/** An upstream's answer that wants input, or only wants to be asked again. @see SEP-2322, input required */
export interface UpstreamRound {
  readonly kind: 'input_required';
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  /** Opaque: only the upstream reads it. */
  readonly requestState?: string;
  readonly meta?: JsonObject;
}

/** A task of an upstream, every member kept. */
export type UpstreamTask = JsonObject & {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'cancelled' | 'failed';
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from `createdAt`; `null` for ever. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
  readonly result?: JsonObject;
  readonly error?: JsonObject & { readonly code: number; readonly message: string };
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
};

/** How a call ended whose client waits, and can be asked or hold a task. */
export type RelayedAnswer = InvocationResult | UpstreamRound | { readonly kind: 'task'; readonly task: UpstreamTask };

export const TASK_METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;
export type TaskMethod = (typeof TASK_METHODS)[number];

export interface TaskRequest {
  readonly upstream: string;
  readonly method: TaskMethod;
  readonly upstreamTaskId: string;
  readonly tool: string;
  readonly caller: Principal;
  readonly conversation: Conversation;
}

/** How one request about a task of an upstream ended. `done`: the upstream acknowledged it. */
export type RelayedTaskAnswer =
  | { readonly kind: 'task'; readonly task: UpstreamTask }
  | { readonly kind: 'done' }
  | Unanswered;

/** The upstream MCP servers, for a client that waits. Each method sends once, and never repeats. */
export interface UpstreamRelay {
  /** A call, as `Upstreams.call` makes it, in which the upstream is told what it may ask, and whether it may open a task. */
  relay(call: UpstreamCall & { conversation: Conversation }, options: UpstreamCallOptions): Promise<RelayedAnswer>;
  task(request: TaskRequest, options: { signal: AbortSignal; timeoutMs?: number }): Promise<RelayedTaskAnswer>;
}
