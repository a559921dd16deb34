let nextId = 0;

export interface RpcAnswer {
  readonly status: number;
  readonly body: { result?: Record<string, unknown>; error?: { code: number; message: string; data?: unknown } };
}

const PROTOCOL_VERSION = '2026-07-28';

/** One JSON-RPC request of a client that declares tasks, written by hand so that every header and member is visible. */
export async function sendRpc(
  url: string,
  token: string,
  { method, params, extensions }: { method: string; params: Record<string, unknown>; extensions?: object },
): Promise<RpcAnswer> {
  const name = params['name'] ?? params['taskId'];
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': PROTOCOL_VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: (nextId += 1),
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': PROTOCOL_VERSION,
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': {
            extensions: extensions ?? { 'io.modelcontextprotocol/tasks': {} },
          },
        },
      },
    }),
  });
  return { status: response.status, body: (await response.json()) as RpcAnswer['body'] };
}
