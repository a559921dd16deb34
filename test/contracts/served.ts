import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { ACCEPTS } from '../support/gateway-wire.ts';

export interface Asked {
  readonly method?: string;
  /** Default: the MCP endpoint. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Of headers that differ in each run. */
const PLACEHOLDERS: Readonly<Record<string, string>> = { date: '<date>', 'mcp-session-id': '<session>' };
/** The part of the id of an event that names the session. */
const EVENT_ID = /^id: [\w-]{8}\./gm;

/**
 * A served answer: status, headers in their order and spelling, body. The date, the gateway's port and the ids of sessions differ in each run, so
 * placeholders replace them. Stream messages that depend on the clock are left out.
 */
export async function served(
  mcpUrl: string,
  { method = 'POST', path, headers = {}, body = '' }: Asked,
): Promise<string> {
  const { hostname, port, pathname } = new URL(mcpUrl);
  const outgoing = request({
    ...{ hostname, port, method, path: path ?? pathname, agent: false },
    headers: { ...ACCEPTS, ...headers, 'content-length': Buffer.byteLength(body) },
  });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject).end(body);
  });
  const lines = [`HTTP/${answer.httpVersion} ${answer.statusCode} ${answer.statusMessage}`];
  for (let at = 0; at < answer.rawHeaders.length; at += 2) {
    const name = answer.rawHeaders[at] ?? '';
    lines.push(`${name}: ${PLACEHOLDERS[name.toLowerCase()] ?? answer.rawHeaders[at + 1]}`);
  }
  const content = (await text(answer)).replaceAll(': keep-alive\n\n', '').replaceAll(EVENT_ID, 'id: <session>.');
  return [...lines, '', content].join('\n').replaceAll(`:${port}`, ':<port>');
}
