import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Timing } from '../limits.ts';
import { forHosts, hostsOf } from './known-hosts.ts';

/** An HTTP server that accepts connections. */
export interface HttpServer {
  readonly server: Server;
  /** Where it can be reached, with the real port, without a trailing slash. */
  readonly url: string;
  /**
   * Accepts nothing new, lets requests in flight finish, and ends every connection as soon as it is idle. What is
   * still open after the grace period (streams) is cut.
   */
  close(): Promise<void>;
}

/** Looks at a request before anything else does: has it served, or answers it. */
export type Admit = (request: IncomingMessage, response: ServerResponse, serve: () => void) => void;

/**
 * In milliseconds. How long a connection on which nothing is asked stays open: longer than agents pause between two polls, and
 * than proxies commonly keep it (a minute). A request that is sent at the moment in which it is closed gets no answer.
 */
const KEPT_OPEN_MS = 75_000;

/** Where a server listens, and what becomes of its requests. */
export interface Listening extends Timing {
  readonly host: string;
  readonly port: number;
  /** Addresses that lead here. Requests that name another host are refused. Default: they are not looked at. */
  readonly urls?: readonly string[];
  readonly admit?: Admit;
}

/** Serves `app` on the interface. Port 0 takes any free one. Rejects with the `EADDRINUSE` error when it is taken. */
export async function listen(
  app: RequestListener,
  { host, port, urls, clock, limits, admit = (_request, _response, serve) => serve() }: Listening,
): Promise<HttpServer> {
  const server = createServer({ ...serverOptionsFor(app), keepAliveTimeout: KEPT_OPEN_MS });
  let closing = false;
  const answering = new Set<ServerResponse>();
  // Node takes a connection on which nothing was sent yet for busy, and would wait for it.
  const silent = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  // Before the app, so that a header set here is there when the app answers.
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
  server.on('request', (request, response) => admit(request, response, () => void serve(request, response)));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const close = () => {
    closing = true;
    for (const response of answering) if (!response.headersSent) response.setHeader('connection', 'close');
    return new Promise<void>((resolve, reject) => {
      const letGo = clock.once(limits.serverCloseMs, () => server.closeAllConnections());
      server.close((error) => {
        letGo();
        if (error === undefined) resolve();
        else reject(error);
      });
      server.closeIdleConnections();
      for (const socket of silent) socket.destroy();
    });
  };
  return { server, url: addressOf(server, host), close };
}

function addressOf(server: Server, host: string): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}

/**
 * Options with which a server makes requests and responses that are the application's own from birth. Express otherwise
 * changes the prototype of each when it arrives, and V8 gives up its fast paths for whatever touches such an object
 * afterwards: that was three quarters of what answering took. Empty for a listener that is no express application.
 */
function serverOptionsFor(app: RequestListener): ServerOptions {
  if (!isExpress(app)) return {};
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  // Express goes on setting these as prototypes, which changes nothing any more.
  app.request = AppRequest.prototype;
  app.response = AppResponse.prototype;
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

/** What an express application puts under each request and response. */
interface Prototypes {
  request: object;
  response: object;
}

const isExpress = (app: RequestListener): app is RequestListener & Prototypes => 'request' in app && 'response' in app;
