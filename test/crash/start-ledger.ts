// Runs in a separate process, on the port in the first argument: an MCP server over HTTP with one tool, `note`, which
// agents know by the third argument. It shares no code with the product. Each call is on disk, in the file named by the
// second argument, before it is answered.
import { createHash, randomUUID } from 'node:crypto';
import { fsyncSync, openSync, writeSync } from 'node:fs';
import express from 'express';

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly arguments?: Record<string, string>;
    readonly _meta?: Record<string, unknown>;
  };
}

const TOOL = {
  name: 'note',
  description: 'Notes an entry.',
  inputSchema: {
    type: 'object',
    properties: { entry: { type: 'string' }, secret: { type: 'string' } },
    required: ['entry', 'secret'],
    additionalProperties: false,
  },
};
const file = openSync(process.argv[3] ?? '', 'a');
const publicName = process.argv[4] ?? '';

/** The canonical form of tool and arguments, when all arguments are plain text. */
function canonicalCall(args: Record<string, string>): string {
  return `{"arguments":${JSON.stringify(args, Object.keys(args).sort())},"tool":${JSON.stringify(publicName)}}`;
}

function note(params: Message['params'], headerKey: string | undefined): object {
  const args = params?.arguments ?? {};
  const reply = randomUUID();
  const entry = {
    upstreamKey: params?._meta?.['dev.countersign/idempotency-key'],
    headerKey,
    entry: args['entry'],
    digest: `sha-256:${createHash('sha256').update(canonicalCall(args)).digest('hex')}`,
    at: new Date().toISOString(),
    reply,
  };
  writeSync(file, `${JSON.stringify(entry)}\n`);
  fsyncSync(file);
  return { content: [{ type: 'text', text: reply }] };
}

function answer({ method, params }: Message, headerKey: string | undefined): object | undefined {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'ledger', version: '1' },
      };
    case 'tools/list':
      return { tools: [TOOL] };
    case 'tools/call':
      return note(params, headerKey);
    case 'ping':
      return {};
    default:
      return undefined;
  }
}

const app = express();
app.use(express.json());
app.post('/mcp', (request, response) => {
  const message = request.body as Message;
  if (message.id === undefined) return void response.status(202).end();
  const result = answer(message, request.get('idempotency-key'));
  const error = { code: -32_601, message: 'unknown' };
  response.json({ jsonrpc: '2.0', id: message.id, ...(result === undefined ? { error } : { result }) });
});
app.all('/mcp', (_request, response) => void response.status(405).end());
app.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('ready\n'));
