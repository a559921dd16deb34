import { request } from 'node:http';
import express from 'express';
import { startFixtureUpstream } from '../conformance/fixture/upstream.ts';
import { serve } from './serve.ts';

/** One request as it reached the upstream. */
export interface Received {
  readonly method: string;
  readonly params: Record<string, unknown> & { readonly _meta?: Record<string, unknown> };
  readonly headers: Record<string, unknown>;
}

type Message = { id?: unknown; method: string; params?: Received['params'] };
/** An answer in place of the server's own. */
type Forged = { readonly result: object } | { readonly error: object } | undefined;

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/**
 * A server on the official package that asks questions and opens tasks. It notes the requests that reach it, and a test
 * can make it give answers that no honest server gives.
 */
export async function startConversingUpstream() {
  const fixture = await startFixtureUpstream();
  const { hostname, port, pathname } = new URL(fixture.url);
  const received: Received[] = [];
  const upstream = {
    received,
    forge: (_request: Received): Forged => undefined,
    /** Requests of these methods, the last one first. */
    of: (...methods: string[]) => received.filter(({ method }) => methods.includes(method)).reverse(),
  };
  const app = express();
  app.use(express.json({ limit: '10mb' }));
  app.all('/mcp', (incoming, outgoing) => {
    const { id, method, params = {} } = (incoming.body ?? {}) as Message;
    const one = { method, params, headers: { ...incoming.headers } };
    if (method !== undefined) received.push(one);
    const forged = upstream.forge(one);
    if (forged !== undefined) return void outgoing.json({ jsonrpc: '2.0', id, ...forged });
    const body = JSON.stringify(incoming.body);
    const headers = { ...incoming.headers, 'content-length': Buffer.byteLength(body) };
    const onward = request({ hostname, port, path: pathname, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.once('close', () => onward.destroy());
    onward.end(body);
  });
  const server = await serve(app);
  return Object.assign(upstream, {
    url: `${server.url}/mcp`,
    reset(): void {
      received.length = 0;
      upstream.forge = () => undefined;
    },
    async close(): Promise<void> {
      await server.close();
      await fixture.close();
    },
  });
}

/** The client capabilities that the upstream was told. */
export const declaredTo = (received: Received | undefined) => received?.params._meta?.[CAPABILITIES];
