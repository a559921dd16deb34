import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import type { Json } from '../../workflows/domain/canonical-json.ts';
import { BOTH_ACCOUNTS, mappedSchema, WIRE_TRANSFER } from './mapped-tools.ts';
import { serve } from './serve.ts';

const REQUIRED = { wire_transfer: ['to', 'amount'], move: ['from', 'to', 'amount'] };

/** A server on the official package with tools that declare mappings, which a test changes while it runs. */
export async function startMappedBank() {
  const bank = {
    mappings: { wire_transfer: WIRE_TRANSFER as Json, move: BOTH_ACCOUNTS as Json },
    calls: [] as { readonly tool: string; readonly arguments: unknown }[],
  };
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'bank', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true } } },
    );
    for (const tool of ['wire_transfer', 'move'] as const) {
      const schema = { ...mappedSchema(bank.mappings[tool]), required: REQUIRED[tool], additionalProperties: false };
      const inputSchema = fromJsonSchema(schema as never);
      server.registerTool(tool, { description: 'Moves money.', inputSchema }, async (args) => {
        bank.calls.push({ tool, arguments: args });
        return { content: [{ type: 'text', text: 'booked' }] };
      });
    }
    return server;
  });
  const app = express();
  app.use(express.json());
  const node = toNodeHandler(handler);
  app.all('/mcp', (request, response) => node(request, response, request.body));
  const { url, close } = await serve(app);
  return Object.assign(bank, { url: `${url}/mcp`, announce: () => handler.notify.toolsChanged(), close });
}
