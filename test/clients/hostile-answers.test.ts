import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { serve } from '../support/serve.ts';
import { anAccessRequestClient, aPdpClient } from '../support/authority-clients.ts';

const QUESTION = {
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'bank__transfer' },
  context: {},
};
const JSON_HEAD = { 'content-type': 'application/json' };

let server!: HttpServer;
let answer: (response: ServerResponse) => void;
beforeAll(async () => {
  server = await serve((request, response) => {
    void text(request).then(() => answer(response));
  });
});
afterAll(() => server?.close());

const says = (body: string | Buffer, head: Record<string, string> = JSON_HEAD) => {
  answer = (response) => response.writeHead(200, head).end(body);
};
const decide = (timeoutMs = 5_000) =>
  aPdpClient(server.url, {
    ...{ metadata: 'ignored', accessRequestsUrl: `${server.url}/access/v1/requests`, timeoutMs },
  }).evaluate(QUESTION);
const read = () =>
  anAccessRequestClient(server.url).read({
    accessRequestId: 'arq_1',
    statusEndpoint: `${server.url}/arq_1`,
  });

const PERMIT = '{"decision":true}';
const approvedTask = (status = '"status":"approved"') =>
  `{"task":{"id":"arq_1",${status},"status_endpoint":"${server.url}/arq_1"},"result":{"mode":"reevaluate","approval":
  {"id":"apr_1","approved_at":"2026-11-21T09:00:00Z","approved_until":"2126-11-21T09:00:00Z","state":"s"}}}`;
const NO_DECISION = { code: 'ERR_PDP_UNAVAILABLE' };
const NO_STATUS = { code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE' };

describe('a permit and an approval', () => {
  it('are read from each JSON content type', async () => {
    for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/authzen+json']) {
      says(PERMIT, { 'content-type': type });
      expect(await decide()).toEqual({ kind: 'allow' });
      says(approvedTask(), { 'content-type': type });
      expect(await read()).toMatchObject({ kind: 'granted' });
    }
  });

  it.each([
    ['a page', { 'content-type': 'text/html' }],
    ['a plain text', { 'content-type': 'text/plain; charset=utf-8' }],
    ['a content type that only begins like JSON', { 'content-type': 'application/jsonp' }],
    ['an answer without a content type', {}],
  ])('are refused in %s', async (_what, head) => {
    says(PERMIT, head);
    await expect(decide()).rejects.toMatchObject(NO_DECISION);
    says(approvedTask(), head);
    await expect(read()).rejects.toMatchObject(NO_STATUS);
  });

  it.each([
    '{"decision":false,"decision":true}',
    '{"decision":true,"decision":true}',
    '{"decision":false,"\\u0064\\u0065\\u0063\\u0069\\u0073\\u0069\\u006f\\u006e":true}',
    '{"number":123456789012345678901,"decision":false,"decision":true}',
    '{"__proto__":{},"decision":false,"decision":true}',
    '{"decision":true,"context":{"obligations":[{"id":"a","type":"x","properties":{}}],"obligations":[]}}',
    `{"decision":true,"context":${'['.repeat(300)}${']'.repeat(300)}}`,
  ])('are refused when the answer is ambiguous: %s', async (body) => {
    says(body);
    await expect(decide()).rejects.toMatchObject(NO_DECISION);
  });

  it('are refused when a request is denied and approved at once', async () => {
    says(approvedTask('"status":"denied","status":"approved"'));
    await expect(read()).rejects.toMatchObject(NO_STATUS);
  });

  it('are accepted beside numbers that exceed a double', async () => {
    says('{"decision":true,"context":{"took_ns":123456789012345678901}}');
    expect(await decide()).toMatchObject({ kind: 'allow' });
  });

  it('are refused when compressed, or followed by more bytes', async () => {
    says(gzipSync(PERMIT), { ...JSON_HEAD, 'content-encoding': 'gzip' });
    await expect(decide()).rejects.toMatchObject(NO_DECISION);
    says(`${PERMIT}${PERMIT}`);
    await expect(decide()).rejects.toMatchObject(NO_DECISION);
  });

  it('are refused when the answer is endless, cut off or too slow', async () => {
    answer = (response) => {
      response.writeHead(200, JSON_HEAD).write(PERMIT);
    };
    await expect(decide(200)).rejects.toMatchObject(NO_DECISION);
    answer = (response) => {
      response.writeHead(200, { ...JSON_HEAD, 'content-length': '100' });
      response.write(PERMIT, () => response.destroy());
    };
    await expect(decide()).rejects.toMatchObject(NO_DECISION);
    answer = (response) => {
      response.writeHead(200, JSON_HEAD);
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    };
    await expect(decide(300)).rejects.toMatchObject(NO_DECISION);
    const endless = Buffer.alloc(256 * 1024, ' ');
    answer = (response) => {
      response.writeHead(200, JSON_HEAD);
      const pour = () => void (response.destroyed || response.write(endless, pour));
      pour();
    };
    await expect(decide()).rejects.toMatchObject(NO_DECISION);
    await expect(read()).rejects.toMatchObject(NO_STATUS);
  });
});
