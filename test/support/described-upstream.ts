import express from 'express';
import { serve } from './serve.ts';

/** An upstream of this process that lists these tools, and answers each call with nothing. */
export async function startDescribedUpstream(tools: readonly object[]) {
  const answers: Record<string, (params: { protocolVersion?: string }) => object> = {
    initialize: ({ protocolVersion }) => ({
      ...{ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'described', version: '1' } },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ content: [] }),
  };
  const app = express();
  app.post('/', express.json(), (request, response) => {
    const { id, method, params = {} } = request.body as { id?: unknown; method: string; params?: object };
    if (id === undefined) return void response.status(202).end();
    const result = answers[method]?.(params);
    const unknown = { error: { code: -32_601, message: 'no such method' } };
    response.json({ jsonrpc: '2.0', id, ...(result === undefined ? unknown : { result }) });
  });
  return serve(app);
}
