import { randomUUID } from 'node:crypto';
import {
  Client,
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  DispatchError,
  type RawClientDispatch,
  type TaskView,
} from '@modelcontextprotocol/ext-tasks/client';
import { systemClock, timeLimit } from '../../shared/clock.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';

const clientInfo = { name: 'demo-agent', version: '1.0.0' };
const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const PROTOCOL_VERSION = '2026-07-28';

export type Agent = Awaited<ReturnType<typeof connectAgent>>;

/**
 * An MCP client on the official tasks package. It supports tools and tasks, and knows no approvals. `fetchWith` can record the
 * requests.
 */
export async function connectAgent(mcpUrl: string, token: string, fetchWith: typeof fetch = fetch) {
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: { pin: PROTOCOL_VERSION } },
  });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(mcpUrl), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
      fetch: fetchWith,
    }),
  );
  const session = createTaskSessionFromClient(client, {
    endpointId: mcpUrl,
    rawDispatch: rawDispatchOver(client),
    v2RequestFraming: { protocolVersion: PROTOCOL_VERSION, clientInfo, clientCapabilities },
  });

  return {
    async toolNames() {
      return (await client.listTools()).tools.map((tool) => tool.name);
    },
    /** Calls a tool and follows the task, if there is one, to its end. `taskId` is set if the server answered with a task first. */
    async call(name: string, args: JsonObject, onTask?: (task: TaskView) => void) {
      const execution = await session.callTool(name, args);
      const { outcome } = await execution.settle({
        onEvent: (event) => {
          if (event.type === 'task') onTask?.(event.task);
        },
      });
      const taskId = execution.kind === 'task' ? String(execution.handle.taskId) : undefined;
      if (outcome.status === 'completed') {
        const { content = [], isError = false } = outcome.result as {
          content?: { text?: string }[];
          isError?: boolean;
        };
        return { taskId, status: outcome.status, isError, text: content.map((block) => block.text ?? '').join('\n') };
      }
      const text = outcome.status === 'failed' ? outcome.error.message : 'cancelled';
      return { taskId, status: outcome.status, isError: true, text };
    },
    async close() {
      await session.close();
      await client.close();
    },
  };
}

const DEFAULT_TIMEOUT_MS = 60_000;
const RETRY_MS = 500;

/**
 * Sends JSON-RPC requests over the transport of a connected client, and returns the raw answers. The tasks client needs this, because
 * the SDK refuses results of type `task`. The transport still serves the client for all other messages.
 */
export function rawDispatchOver(client: Client): RawClientDispatch {
  const { transport } = client;
  if (transport === undefined) throw new Error('the client is not connected');
  const waiting = new Map<string, (answer: JSONRPCMessage) => void>();
  const sdkHandler = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const resolve = 'method' in message ? undefined : waiting.get(String(message.id));
    if (resolve === undefined) sdkHandler?.(message, extra);
    else resolve(message);
  };

  return async (request, options = {}) => {
    const id = `dispatch-${randomUUID()}`;
    const timeoutMs = options.context?.requestTimeoutMs ?? DEFAULT_TIMEOUT_MS;
    const { signal, end } = timeLimit(systemClock, timeoutMs, ...(options.signal ? [options.signal] : []));
    try {
      const answer = await new Promise<JSONRPCMessage>((resolve, reject) => {
        waiting.set(id, resolve);
        const giveUp = () => reject(new DispatchError('the request was given up', true));
        if (signal.aborted) return giveUp();
        signal.addEventListener('abort', giveUp, { once: true });
        const message = { jsonrpc: '2.0', id, ...(request as object) } as JSONRPCRequest;
        send(transport, message, signal).catch((cause: unknown) =>
          reject(new DispatchError('the request could not be sent', true, { cause })),
        );
      });
      if ('error' in answer) return { kind: 'error', error: answer.error as never };
      if ('result' in answer) return { kind: 'result', result: answer.result as never };
      throw new DispatchError('the answer is not a response');
    } finally {
      waiting.delete(id);
      end();
    }
  };
}

/** Reading a task changes nothing, so it is repeated while the server is away, as during a restart. A call is never repeated. */
async function send(transport: Transport, message: JSONRPCRequest, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await transport.send(message);
    } catch (error) {
      if (message.method !== 'tasks/get' || signal.aborted) throw error;
      await systemClock.after(RETRY_MS);
    }
  }
}
