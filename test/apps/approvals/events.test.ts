import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import { connect, type Socket } from 'node:net';
import pino from 'pino';
import { startChanges } from '../../../apps/approvals/inbox/events.ts';
import { listen as serve } from '../../../apps/shared/http/listen.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { systemTime } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('the stream of changes', () => {
  const service = new ApprovalsUnderTest();
  const open = new Set<AbortController>();
  beforeAll(() => service.start());
  afterAll(async () => {
    for (const one of open) one.abort();
    await service.stop();
  });

  /** Listens as a browser does, and collects what it hears. */
  async function listen(since: number, headers: Record<string, string> = {}) {
    const stop = new AbortController();
    open.add(stop);
    const authorization = `Bearer ${await service.token('alice')}`;
    const answer = await fetch(new URL(`/requests/events?since=${since}`, service.url), {
      headers: { authorization, ...headers },
      signal: stop.signal,
    });
    const heard = { text: '', status: answer.status, type: answer.headers.get('content-type') };
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    const read = async (): Promise<void> => {
      const part = await reader?.read();
      if (part === undefined || part.done) return;
      heard.text += part.value;
      return read();
    };
    void read().catch(() => undefined);
    return { heard, stop };
  }
  const changes = ({ text }: { text: string }) => text.match(/event: changed/g)?.length ?? 0;
  const future = Date.now() + 3_600_000;

  it('says that something changed, and not what', async () => {
    const { heard } = await listen(future);
    expect(heard).toMatchObject({ status: 200, type: 'text/event-stream; charset=utf-8' });
    const request = await service.open();
    await waitFor(() => changes(heard) >= 1);
    const before = changes(heard);
    await service.vote('alice', request, 'deny');
    await waitFor(() => changes(heard) > before);
    expect(heard.text).not.toContain(request.id);
  });

  it('tells of a change between the page and the stream at once', async () => {
    const drawn = Date.now() - 1;
    await service.open();
    const { heard } = await listen(drawn);
    await waitFor(() => changes(heard) === 1);
  });

  it('tells a browser that comes back only of what it has not heard', async () => {
    const first = await listen(future);
    await service.open();
    await waitFor(() => changes(first.heard) >= 1);
    const last = [...first.heard.text.matchAll(/id: (\d+)/g)].at(-1)?.[1] ?? '';
    first.stop.abort();
    const again = await listen(0, { 'last-event-id': last });
    await waitFor(() => again.heard.text.includes('retry'));
    expect(changes(again.heard)).toBe(0);
  });

  it('ends a stream that opens while the service stops, and lets the browser ask again', async () => {
    const log = pino({ level: 'silent' });
    const changes = await startChanges({ ...systemTime, databaseUrl: service.database.url, log });
    const app = express().get('/', changes.stream);
    const server = await serve(app, { ...systemTime, host: '127.0.0.1', port: 0 });
    await changes.stop();
    const answer = await fetch(server.url);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(/^retry: \d+\n\n$/);
    await server.close();
  });

  it('writes nothing to a stream that has ended, while its connection does not close', async () => {
    const clock = new ManualClock();
    const log = pino({ level: 'silent' });
    const own = await startChanges({ ...systemTime, clock, databaseUrl: service.database.url, log });
    const sockets: Socket[] = [];
    const keepBack: RequestHandler = ({ socket }, _response, next) => {
      // More than the system takes for a browser that does not read, as when its machine sleeps.
      socket.write(Buffer.alloc(32 * 1_024 * 1_024));
      sockets.push(socket);
      next();
    };
    const app = express().get('/sleeping', keepBack, own.stream).get('/', own.stream);
    const server = await serve(app, { ...systemTime, host: '127.0.0.1', port: 0 });
    const stop = new AbortController();
    const sleeping = connect(Number(new URL(server.url).port), '127.0.0.1');
    sleeping.write('GET /sleeping HTTP/1.1\r\nHost: inbox.example\r\n\r\n');
    await waitFor(() => sockets.length === 1);
    await clock.advance(60_000);
    const awake = await fetch(server.url, { signal: stop.signal });
    const reader = awake.body?.pipeThrough(new TextDecoderStream()).getReader();
    await service.open();
    // One event as it opens, and another for the request.
    const heard = { text: '' };
    await waitFor(async () => {
      heard.text += (await reader?.read())?.value ?? '';
      return changes(heard) >= 2;
    });
    stop.abort();
    sleeping.destroy();
    await own.stop();
    await server.close();
  });

  it('is only for people who may use the inbox', async () => {
    const answer = await fetch(new URL('/requests/events', service.url), {
      headers: { accept: 'application/json' },
      redirect: 'manual',
    });
    expect(answer.status).toBeGreaterThanOrEqual(300);
    const headers = { authorization: `Bearer ${await service.tokenWith({ sub: 'no-approver' })}` };
    const asNoApprover = await fetch(new URL('/requests/events', service.url), { headers });
    expect(asNoApprover.status).toBe(403);
  });

  it('tells of the row of a request only to those who may read it', async () => {
    const request = await service.open({ claims: { template: 'operator_approval' } });
    await service.vote('alice', request, 'deny');
    const own = await service.asPerson('alice', `/requests/${request.id}/row`);
    expect(own.status).toBe(200);
    expect((await service.asPerson('alice', '/requests/arq_none/row')).status).toBe(404);
  });
});
