import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import pino from 'pino';
import { startChanges } from '../../../apps/approvals/inbox/events.ts';
import { listen as serve } from '../../../apps/shared/http/listen.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
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
