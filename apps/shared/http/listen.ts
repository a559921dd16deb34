import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, type ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { promisify } from 'node:util';
import type { Timing } from '../limits.ts';
import { keepRoom } from './crowd.ts';
import { forHosts, hostsOf } from './known-hosts.ts';

export type HttpServer = Awaited<ReturnType<typeof listen>>;

/** Sees a request first, and either calls `serve` or answers it. */
export type Admit = (request: IncomingMessage, response: ServerResponse, serve: () => void) => void;

/**
 * How long an idle connection stays open, in milliseconds: longer than agents pause between two polls, and than proxies commonly keep
 * it (a minute). A request that arrives while the server closes its connection gets no answer.
 */
export const KEPT_OPEN_MS = 75_000;

export interface Listening extends Timing {
  readonly host: string;
  readonly port: number;
  /** Addresses that lead here. Requests for another host are refused. Default: hosts are not checked. */
  readonly urls?: readonly string[];
  readonly admit?: Admit;
}

/** Serves `app` on the interface. Port 0 takes any free one. Rejects with `EADDRINUSE` when the port is taken. */
export async function listen(
  app: RequestListener,
  { host, port, urls, clock, limits, admit = (_request, _response, serve) => serve() }: Listening,
) {
  const server = createServer({ ...serverOptionsFor(app), keepAliveTimeout: KEPT_OPEN_MS });
  keepRoom(server);
  let closing = false;
  const answering = new Set<ServerResponse>();
  // Node counts a connection without a first request as busy, and would wait for it.
  const silent = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  // Before the app, so that the header is set when the app answers.
  server.on('request', (request, response) => {
    silent.delete(request.socket);
    answering.add(response);
    if (closing) response.setHeader('connection', 'close');
    response.once('close', () => {
      answering.delete(response);
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
  });
  const serve = urls === undefined ? app : forHosts(hostsOf(host, urls), app);
  server.on('request', (request, response) => admit(request, response, () => serve(request, response)));
  await once(server.listen(port, host), 'listening');
  /**
   * Accepts no new requests, lets those in flight finish, and ends every connection as soon as it is idle. Connections that are open
   * after the grace period (streams) are cut.
   */
  const close = async (): Promise<void> => {
    closing = true;
    for (const response of answering) if (!response.headersSent) response.setHeader('connection', 'close');
    const cancel = clock.once(limits.serverCloseMs, () => server.closeAllConnections());
    const closed = promisify(server.close.bind(server))();
    server.closeIdleConnections();
    for (const socket of silent) socket.destroy();
    await closed.finally(cancel);
  };
  const { port: actualPort } = server.address() as AddressInfo;
  /** With the actual port, without a trailing slash. */
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${actualPort}`;
  return { server, url, close };
}

/**
 * Options with which the server creates requests and responses with the application's own prototypes. Otherwise express changes the
 * prototype of each, and V8 gives up its fast paths for these objects, which took three quarters of the time of an answer. Empty for a
 * listener that is not an express application.
 */
function serverOptionsFor(app: RequestListener): ServerOptions {
  if (!isExpress(app)) return {};
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  // Express still sets these prototypes, now without effect.
  app.request = AppRequest.prototype;
  app.response = AppResponse.prototype;
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

const isExpress = (app: RequestListener): app is RequestListener & { request: object; response: object } =>
  'request' in app && 'response' in app;
