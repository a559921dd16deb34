import { randomUUID } from 'node:crypto';
import type { Client, JSONRPCMessage, JSONRPCRequest, Transport } from '@modelcontextprotocol/client';
import { DispatchError, type RawClientDispatch } from '@modelcontextprotocol/ext-tasks/client';
import { systemClock, timeLimit } from '../../shared/clock.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
const LOOK_AGAIN_MS = 500;

/**
 * Sends JSON-RPC requests over the transport of a connected client and hands the answers out as they arrived. The tasks
 * client needs this because the SDK's own request path refuses results of type `task`. The client's transport stays
 * in use for everything else.
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

/** A look at a task changes nothing, so it is repeated while the server is away, as during a restart. A call never is. */
async function send(transport: Transport, message: JSONRPCRequest, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await transport.send(message);
    } catch (error) {
      if (message.method !== 'tasks/get' || signal.aborted) throw error;
      await systemClock.after(LOOK_AGAIN_MS);
    }
  }
}
