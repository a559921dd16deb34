import fc from 'fast-check';
import { REVISION } from '../support/gateway-wire.ts';
import type { KnownSessions } from './sessions.ts';
import { HARD_TEXTS, oddValue } from './values.ts';

/** The tools and tasks behind a fuzzed gateway. */
export interface Known {
  /** Calls of its tools, of which policy allows some, holds some and refuses some. */
  readonly calls: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[];
  readonly taskIds: readonly string[];
  /** Values of the header `Authorization`: the gateway accepts the caller with each of `good`, and refuses each of `bad`. */
  readonly good: readonly string[];
  readonly bad: readonly string[];
  readonly sessions: KnownSessions;
}

/** A JSON-RPC message as its method requires it, or an answer to a question that was perhaps never asked. */
export interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
}

const EARLIER_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const clientInfo = { name: 'fuzz', version: '0' };
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const capabilities = fc.constantFrom<object>(
  TASKS,
  TASKS,
  { ...TASKS, elicitation: {} },
  {},
  { elicitation: {}, sampling: {}, roots: {} },
  { tasks: { list: {} } },
);

/** The `_meta` of the present revision. */
const meta = fc.record(
  {
    'io.modelcontextprotocol/protocolVersion': fc.constant(REVISION),
    'io.modelcontextprotocol/clientInfo': fc.constant(clientInfo),
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    progressToken: fc.constantFrom<string | number>('p-1', 0),
    traceparent: fc.constant('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'),
    baggage: fc.constantFrom(...HARD_TEXTS),
  },
  {
    requiredKeys: [
      'io.modelcontextprotocol/protocolVersion',
      'io.modelcontextprotocol/clientInfo',
      'io.modelcontextprotocol/clientCapabilities',
    ],
  },
);

const text = fc.constantFrom(...HARD_TEXTS);
const noParams = fc.constant({});

/**
 * Parameters that fit each method. Of the methods that the gateway does not know, some exist elsewhere in the protocol.
 */
function paramsByMethod({ calls, taskIds }: Known): Readonly<Record<string, fc.Arbitrary<Record<string, unknown>>>> {
  const taskId = fc.constantFrom(...taskIds, 'tsk_00000000000000000000000000000000');
  const call = fc.constantFrom(...calls);
  const inputResponses = fc.dictionary(text, fc.record({ action: fc.constant('accept'), content: oddValue }), {
    maxKeys: 3,
  });
  return {
    'tools/list': fc.record({ cursor: text }, { requiredKeys: [] }),
    'tools/call': fc
      .tuple(call, fc.record({ inputResponses, requestState: text }, { requiredKeys: [] }))
      .map(([of, answered]) => ({ ...of, ...answered })),
    'tasks/get': fc.record({ taskId }),
    'tasks/update': fc.record({ taskId, inputResponses }),
    'tasks/cancel': fc.record({ taskId }),
    'tasks/list': noParams,
    'tasks/result': fc.record({ taskId }),
    'subscriptions/listen': fc.record({
      notifications: fc.record(
        {
          toolsListChanged: fc.boolean(),
          taskIds: fc.array(taskId, { maxLength: 4 }),
          resourceSubscriptions: fc.array(text),
        },
        { requiredKeys: [] },
      ),
    }),
    'server/discover': noParams,
    initialize: fc.record({
      protocolVersion: fc.constantFrom(REVISION, ...EARLIER_REVISIONS, '1999-01-01'),
      capabilities,
      clientInfo: fc.constant(clientInfo),
    }),
    ping: noParams,
    'prompts/list': noParams,
    'prompts/get': fc.record({ name: text, arguments: fc.dictionary(text, text, { maxKeys: 2 }) }),
    'resources/list': noParams,
    'resources/templates/list': noParams,
    'resources/read': fc.record({ uri: text }),
    'resources/subscribe': fc.record({ uri: text }),
    'resources/unsubscribe': fc.record({ uri: text }),
    'completion/complete': fc.record({
      ref: fc.record({ type: fc.constant('ref/prompt'), name: text }),
      argument: fc.record({ name: text, value: text }),
    }),
    'logging/setLevel': fc.record({ level: fc.constantFrom('debug', 'error') }),
    signature: noParams,
    'elicitation/create': fc.record({ message: text, requestedSchema: oddValue }),
    'notifications/initialized': noParams,
    'notifications/cancelled': fc.record({ requestId: text, reason: text }),
    'notifications/progress': fc.record({ progressToken: text, progress: fc.nat() }),
  };
}

/** Methods that ask policy or have a state come most often. */
const WEIGHTS: Readonly<Record<string, number>> = {
  ...{ 'tools/call': 40, 'tasks/get': 20, 'tasks/update': 15, 'tasks/cancel': 10, 'subscriptions/listen': 15 },
  ...{ 'tools/list': 8, 'server/discover': 5, initialize: 5 },
};

/** Messages of the present revision, and sometimes without the `_meta` of a request, as earlier revisions had them. */
export function messages(known: Known): fc.Arbitrary<Message> {
  const ofMethod = Object.entries(paramsByMethod(known)).map(([method, params]) => ({
    weight: WEIGHTS[method] ?? 1,
    arbitrary: fc
      .record({ id: fc.constantFrom<string | number>('r-1', 7, 0, ''), params, meta: fc.option(meta, { freq: 5 }) })
      .map(({ id, params: fitting, meta: _meta }) => ({
        jsonrpc: '2.0' as const,
        ...(!method.startsWith('notifications/') && { id }),
        method,
        params: _meta === null ? fitting : { ...fitting, _meta },
      })),
  }));
  const answer = fc.record({ jsonrpc: fc.constant('2.0' as const), id: text, result: oddValue });
  return fc.oneof(...ofMethod, answer);
}
