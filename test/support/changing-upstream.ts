import type { IncomingHttpHeaders } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  ResourceTemplate,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import express, { type Response } from 'express';
import { serve } from './serve.ts';

/** A prompt, resources and a template, as the server describes them. */
export interface ItemDescriptions {
  readonly prompt: string;
  readonly resource: string;
  readonly template: string;
  /** Size of the resources in bytes, and the time of their change. */
  readonly size?: number;
  readonly lastModified?: string;
  /** Part of their addresses. Default: `desk`. */
  readonly scheme?: string;
  /** How many resources there are. Default: one. */
  readonly resources?: number;
}

/** The tool `pay`, as the server describes it, and its other offers. */
export interface Description {
  readonly items?: ItemDescriptions;
  readonly description: string;
  readonly properties: Readonly<Record<string, { readonly type: string; readonly 'x-mcp-header'?: string }>>;
  readonly annotations: ToolAnnotations;
}

/** The names of the changing upstream's other offers beside its tool. */
export const PROMPT = 'ask';
export const RESOURCE = 'desk://1';
export const TEMPLATE = 'desk://drawers/{drawer}';
export const FROM_TEMPLATE = 'desk://drawers/7';

/**
 * How the server reports changes. It may use a stream that clients ask for, announce the same but refuse each such
 * stream, or announce nothing. The last kind supports only earlier revisions, without sessions, and answers GET with
 * 405.
 */
export const NOTICES = ['told', 'refused', 'none', 'stateless'] as const;
export type Notices = (typeof NOTICES)[number];

/** The answer of the server of the kind without notices, in place of the official package. `undefined`: none. */
function refusalOf(notices: Notices, method: string | undefined): number | undefined {
  if (method === 'subscriptions/listen' && notices !== 'told') return -32_601;
  return method === 'server/discover' && notices === 'stateless' ? -32_601 : undefined;
}

/**
 * A server on the official package with a tool, `pay`, and other offers, whose descriptions a test changes while it
 * runs.
 */
export async function startChangingUpstream(original: Description, notices: Notices = 'told') {
  const listChanged = notices !== 'none';
  const upstream = {
    described: original as Description | undefined,
    calls: 0,
    /** The requests that called the tool, or would have called it. */
    headers: [] as IncomingHttpHeaders[],
    /** Prompts and resources that clients read. */
    reads: 0,
    /** When it resolves, the tool is listed. */
    onList: (): Promise<void> => Promise.resolve(),
    /** When it resolves, the tool answers. */
    onCall: (): Promise<void> => Promise.resolve(),
    /** How often the tools were listed. */
    lists: 0,
  };
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'changing', version: '1.0.0' },
      {
        capabilities: {
          tools: { listChanged },
          ...(upstream.described?.items && { prompts: { listChanged }, resources: { listChanged } }),
        },
      },
    );
    if (upstream.described === undefined) return server;
    const { description, properties, annotations, items } = upstream.described;
    const inputSchema = fromJsonSchema({ type: 'object', properties });
    server.registerTool('pay', { description, inputSchema, annotations }, async () => {
      upstream.calls += 1;
      await upstream.onCall();
      return { content: [{ type: 'text', text: 'paid' }] };
    });
    if (items !== undefined) addItems(server, items, () => (upstream.reads += 1));
    return server;
  });
  const app = express();
  app.use(express.json());
  const node = toNodeHandler(handler);
  const streams = new Set<Response>();
  app.all('/mcp', async (request, response) => {
    const { method, id } = (request.body ?? {}) as { method?: string; id?: unknown };
    const code = refusalOf(notices, method);
    if (code !== undefined)
      return void response.json({ jsonrpc: '2.0', id, error: { code, message: 'no such method' } });
    if (request.method === 'GET' && notices !== 'told') return void response.status(405).end();
    if (method === 'tools/list') {
      upstream.lists += 1;
      await upstream.onList();
    }
    if (method === 'tools/call') upstream.headers.push(request.headers);
    if (method === 'subscriptions/listen') streams.add(response);
    await node(request, response, request.body);
  });
  const { url, close } = await serve(app);
  return Object.assign(upstream, {
    url: `${url}/mcp`,
    /** Tells every connected client that the description changed. */
    announce: () => {
      handler.notify.toolsChanged();
      handler.notify.promptsChanged();
      handler.notify.resourcesChanged();
    },
    /** Breaks the streams for such notices. */
    cut: () => streams.forEach((stream) => stream.destroy()),
    close,
  });
}

function addItems(server: McpServer, items: ItemDescriptions, onRead: () => void): void {
  server.registerPrompt(PROMPT, { description: items.prompt }, async () => {
    onRead();
    return { messages: [{ role: 'user', content: { type: 'text', text: 'asked' } }] };
  });
  const { size, lastModified, scheme = 'desk', resources = 1 } = items;
  const read = async (uri: URL) => {
    onRead();
    return { contents: [{ uri: uri.href, text: 'read' }] };
  };
  const metadata = {
    description: items.resource,
    ...(size !== undefined && { size }),
    ...(lastModified !== undefined && { annotations: { lastModified } }),
  };
  for (let number = 1; number <= resources; number += 1) {
    server.registerResource(`paper ${number}`, `${scheme}://${number}`, metadata, read);
  }
  const template = new ResourceTemplate(TEMPLATE.replace('desk', scheme), {
    list: undefined,
    complete: { drawer: () => ['7'] },
  });
  server.registerResource('drawer', template, { description: items.template }, read);
}
