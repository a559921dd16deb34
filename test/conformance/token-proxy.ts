import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { serve } from '../support/serve.ts';

/**
 * Stands in front of a gateway for a program without a token: adds the token, and hands everything else on unchanged.
 */
export async function startTokenProxy(
  mcpUrl: string,
  token: () => Promise<string>,
): Promise<{ url: string; close(): Promise<void> }> {
  const { hostname, port, pathname } = new URL(mcpUrl);
  const handOn = (bearer: string, incoming: IncomingMessage, outgoing: ServerResponse) => {
    // Host and Origin, too, are the client's, since the suite checks whether the gateway validates them.
    const headers = { ...incoming.headers, authorization: `Bearer ${bearer}` };
    const onward = request({ hostname, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.once('close', () => onward.destroy());
    incoming.pipe(onward);
  };
  const server = await serve((incoming, outgoing) => {
    token().then(
      (bearer) => handOn(bearer, incoming, outgoing),
      () => outgoing.destroy(),
    );
  });
  return { url: `${server.url}${pathname}`, close: () => server.close() };
}
