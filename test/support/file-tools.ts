import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import { serve } from './serve.ts';

interface Given {
  readonly path: string;
  readonly content?: string;
}
/** What each tool does with its arguments. It returns the text of the result. */
const TOOLS = {
  list_directory: ({ path }: Given) => readdirSync(path).join('\n'),
  create_directory: ({ path }: Given) => mkdirSync(path, { recursive: true }) ?? '',
  write_file: ({ path, content = '' }: Given) => {
    writeFileSync(path, content);
    return 'written';
  },
};

/** A file server of this process with three tools of the real one, by the same names. It notes each call before it runs. */
export async function startFileTools() {
  const calls: { name: string; arguments: Record<string, unknown> }[] = [];
  const text = { type: 'string' };
  const inputSchema = fromJsonSchema<Given>({
    ...{ type: 'object', properties: { path: text, content: text }, required: ['path'] },
  });
  const outputSchema = fromJsonSchema({ type: 'object', properties: { content: text }, required: ['content'] });
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'files', version: '1.0.0' });
    for (const [name, run] of Object.entries(TOOLS))
      server.registerTool(name, { inputSchema, outputSchema }, (given) => {
        calls.push({ name, arguments: { ...given } });
        const content = run(given);
        return { content: [{ type: 'text', text: content }], structuredContent: { content } };
      });
    return server;
  });
  const node = toNodeHandler(handler);
  const app = express();
  app.post('/', express.json(), (request, response) => node(request, response, request.body));
  const { url, close } = await serve(app);
  return { settings: { url }, calls: () => calls, close };
}
