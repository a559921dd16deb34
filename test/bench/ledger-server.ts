import { randomUUID } from 'node:crypto';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import express from 'express';
import { listen } from '../../apps/shared/http/listen.ts';
import { systemTime } from '../support/time.ts';

/** An upstream that notes when each call reached it, on the clock of this process. */
export interface Ledger {
  readonly url: string;
  /** Resolves with `performance.now()` of the arrival of the call with this id. */
  arrival(id: string): Promise<number>;
  close(): Promise<void>;
}

/** Serves one tool, `note {id}`, over Streamable HTTP on a free port of 127.0.0.1. */
export async function startLedger(): Promise<Ledger> {
  const arrivals = new Map<string, PromiseWithResolvers<number>>();
  const entry = (id: string) => {
    const known = arrivals.get(id) ?? withResolvers<number>();
    arrivals.set(id, known);
    return known;
  };
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'ledger', version: '1.0.0' });
    const inputSchema = fromJsonSchema<{ id: string }>({
      type: 'object',
      properties: { id: { type: 'string' } },
      required: ['id'],
    });
    server.registerTool('note', { description: 'Notes an id.', inputSchema }, async ({ id }) => {
      entry(id).resolve(performance.now());
      return { content: [{ type: 'text', text: randomUUID() }] };
    });
    return server;
  });
  const app = express();
  app.use(express.json());
  const node = toNodeHandler(handler);
  app.all('/mcp', (request, response) => void node(request, response, request.body));
  const listening = await listen(app, { ...systemTime, host: '127.0.0.1', port: 0 });
  return { url: `${listening.url}/mcp`, arrival: (id) => entry(id).promise, close: () => listening.close() };
}

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
