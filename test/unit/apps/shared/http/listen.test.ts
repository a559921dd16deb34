import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type HttpServer, listen } from '../../../../../apps/shared/http/listen.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { ORDINARY_LIMITS } from '../../../../support/time.ts';

let opened: HttpServer[] = [];
const agent = new Agent({ keepAlive: true });

afterEach(async () => {
  for (const http of opened) if (http.server.listening) await http.close();
  opened = [];
});

/** By default its clock stands still, so that no connection is cut. */
async function serve(app: RequestListener, { port = 0, clock = new ManualClock() } = {}): Promise<HttpServer> {
  const http = await listen(app, { host: '127.0.0.1', port, clock, limits: ORDINARY_LIMITS });
  opened.push(http);
  return http;
}

/** Sends a request over a connection that the client keeps open. */
async function request(url: string): Promise<IncomingMessage> {
  const sent = get(url, { agent });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

/** An app that answers when it is told to. */
function heldApp(): { app: RequestListener; arrived: Promise<ServerResponse> } {
  let arrive: (response: ServerResponse) => void;
  const arrived = new Promise<ServerResponse>((resolve) => (arrive = resolve));
  return { app: (_request, response) => arrive(response), arrived };
}

describe('listen', () => {
  it('answers its address with the assigned port', async () => {
    const { url } = await serve((_request, response) => response.end('here'));
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await text(await request(url))).toBe('here');
  });

  it('rejects when the port is taken', async () => {
    const { url } = await serve(() => undefined);
    const taken = serve(() => undefined, { port: Number(new URL(url).port) });
    await expect(taken).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('keeps an idle connection for more than the minute that proxies keep it', async () => {
    const { server } = await serve((_request, response) => response.end());
    expect(server.keepAliveTimeout).toBeGreaterThan(60_000);
  });

  it('closes at once although clients keep idle connections open', async () => {
    const http = await serve((_request, response) => response.end());
    (await request(http.url)).resume();
    const silent = connect(Number(new URL(http.url).port), '127.0.0.1');
    await once(silent, 'connect');
    await http.close();
    expect(http.server.listening).toBe(false);
  });

  it('lets a request in flight finish, and then ends its connection without waiting for the client', async () => {
    const { app, arrived } = heldApp();
    const http = await serve(app);
    const answer = request(http.url);
    const response = await arrived;
    const closed = http.close();
    response.end('done');
    const received = await answer;
    expect(received.headers.connection).toBe('close');
    expect(await text(received)).toBe('done');
    await closed;
  });

  it('ends the connection of an answer that had begun before closing', async () => {
    const { app, arrived } = heldApp();
    const http = await serve(app);
    const answer = request(http.url);
    const response = await arrived;
    response.write('begun ');
    const received = await answer;
    const closed = http.close();
    response.end('and done');
    expect(await text(received)).toBe('begun and done');
    await closed;
  });

  it('cuts connections that do not end within the grace period', async () => {
    const { app, arrived } = heldApp();
    const clock = new ManualClock();
    const http = await serve(app, { clock });
    const answer = request(http.url);
    const response = await arrived;
    response.write('endless');
    const received = await answer;
    const closed = http.close();
    await clock.advance(ORDINARY_LIMITS.serverCloseMs);
    await closed;
    await expect(text(received)).rejects.toThrow();
  });
});
