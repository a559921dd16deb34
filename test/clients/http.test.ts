import { afterAll, beforeAll, expect, it } from '@jest/globals';
import express from 'express';
import { sendHttp } from '../../activities/clients/http.ts';
import { serve } from '../support/serve.ts';
import { systemTime } from '../support/time.ts';

let server!: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  const app = express();
  app.get('/', (_request, response) => void response.send('here'));
  app.get('/never', () => undefined);
  server = await serve(app);
});
afterAll(() => server.close());

const LIMIT_MS = 2_000;
const ask = (path: string, timeoutMs = LIMIT_MS) =>
  sendHttp(server.url + path, { ...systemTime, method: 'GET', headers: {}, timeoutMs });
/** Blocks this process for so long, as when the machine stands still. */
const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

it('an answer is received although this process was stopped for longer than the limit', async () => {
  const answer = ask('/');
  standStill(LIMIT_MS + 200);
  expect(await answer).toMatchObject({ status: 200, text: 'here' });
});

it('a request without an answer ends at the limit', async () => {
  await expect(ask('/never', 100)).rejects.toThrow();
});
