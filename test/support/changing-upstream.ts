import type { IncomingHttpHeaders } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer, type ToolAnnotations } from '@modelcontextprotocol/server';
import express, { type Response } from 'express';
import { serve } from './serve.ts';

/** The tool `pay`, as the server describes it. */
export interface Description {
  readonly description: string;
  readonly properties: Readonly<Record<string, { readonly type: string; readonly 'x-mcp-header'?: string }>>;
  readonly annotations: ToolAnnotations;
}

/** A server on the official package with one tool, `pay`, whose description a test changes while it runs. */
export async function startChangingUpstream(original: Description) {
  const upstream = {
    described: original as Description | undefined,
    calls: 0,
    /** Of the requests that called the tool, or would have. */
    headers: [] as IncomingHttpHeaders[],
    /** When it resolves, the tool is listed. */
    onList: (): Promise<void> => Promise.resolve(),
  };
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'changing', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true } } },
    );
    if (upstream.described === undefined) return server;
    const { description, properties, annotations } = upstream.described;
    const inputSchema = fromJsonSchema({ type: 'object', properties });
    server.registerTool('pay', { description, inputSchema, annotations }, async () => {
      upstream.calls += 1;
      return { content: [{ type: 'text', text: 'paid' }] };
    });
    return server;
  });
  const app = express();
  app.use(express.json());
  const node = toNodeHandler(handler);
  const streams = new Set<Response>();
  app.all('/mcp', async (request, response) => {
    const { method } = (request.body ?? {}) as { method?: string };
    if (method === 'tools/list') await upstream.onList();
    if (method === 'tools/call') upstream.headers.push(request.headers);
    if (method === 'subscriptions/listen') streams.add(response);
    await node(request, response, request.body);
  });
  const { url, close } = await serve(app);
  return Object.assign(upstream, {
    url: `${url}/mcp`,
    /** Tells whoever is connected that the description changed. */
    announce: () => handler.notify.toolsChanged(),
    /** Breaks the streams on which it would tell. */
    cut: () => streams.forEach((stream) => stream.destroy()),
    close,
  });
}
