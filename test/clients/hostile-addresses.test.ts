import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { serve } from '../support/serve.ts';
import { anAccessRequestClient, aPdpClient } from '../support/authority-clients.ts';

const QUESTION = {
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'bank__transfer' },
  context: {},
};
const STATUS = '/access/v1/requests/arq_1';

/** A server of the inside that nobody is to reach, and the services that try to have it reached. */
let inside!: HttpServer;
let service!: HttpServer;
let reached: number;
let says: unknown;
beforeAll(async () => {
  inside = await serve((_request, response) => {
    reached += 1;
    response.end('{"decision":true}');
  });
  service = await serve((request, response) => {
    void text(request).then(() => response.setHeader('content-type', 'application/json').end(JSON.stringify(says)));
  });
});
afterAll(() => Promise.all([inside?.close(), service?.close()]));
beforeEach(() => {
  reached = 0;
});

/** Every way to write an address of this machine, of its network, or of no network at all. */
const SPELLINGS: readonly [string, (port: string) => string][] = [
  ['an address of this machine', (port) => `http://127.0.0.1:${port}/`],
  ['a short form of it', (port) => `http://127.1:${port}/`],
  ['it in hexadecimal', (port) => `http://0x7f.1:${port}/`],
  ['it in octal', (port) => `http://0177.0.0.1:${port}/`],
  ['it as one number', (port) => `http://2130706433:${port}/`],
  ['its name', (port) => `http://localhost:${port}/`],
  ['its name with a dot', (port) => `http://localhost.:${port}/`],
  ['it in IPv6', (port) => `http://[::1]:${port}/`],
  ['IPv4 in IPv6', (port) => `http://[::ffff:127.0.0.1]:${port}/`],
  ['any address', (port) => `http://0:${port}/`],
  ['any address, written out', (port) => `http://0.0.0.0:${port}/`],
  ['full-width dots', (port) => `http://127。0。0。1:${port}/`],
  ['an address of the network', () => 'http://10.0.0.1/'],
  ['an address of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
  ['another scheme', (port) => `https://127.0.0.1:${port}/`],
  ['a file', () => 'file:///etc/passwd'],
  ['gopher', (port) => `gopher://127.0.0.1:${port}/`],
  ['data', () => 'data:application/json,{"decision":true}'],
  ['no scheme', (port) => `//127.0.0.1:${port}/`],
  ['our own address as the name of a user', (port) => `${service.url}@127.0.0.1:${port}/`],
  ['a host that ours begins', () => `${service.url}.evil.test/`],
];

describe.each(SPELLINGS)('%s', (_name, spelled) => {
  const evil = () => spelled(new URL(inside.url).port);

  it.each(['endpoint', 'request_schema_url'])(
    'as the %s of a denial makes it a plain one [PRJ-24, ARAP-SEC-02]',
    async (member) => {
      const offer = { expires_at: '2126-11-21T09:10:00Z', binding_token: 'eyJ.token', [member]: evil() };
      says = { decision: false, context: { evaluation_id: 'e', access_request: offer } };
      const lines: string[] = [];
      const pdp = aPdpClient(service.url, {
        ...{ metadata: 'ignored', accessRequestsUrl: `${service.url}/access/v1/requests` },
        log: pino({}, { write: (line: string) => void lines.push(line) }),
      });
      expect(await pdp.evaluate(QUESTION)).toMatchObject({ kind: 'deny' });
      expect(lines.join()).toContain('since its request would go to an address that is not trusted');
      expect(reached).toBe(0);
    },
  );

  const client = () => anAccessRequestClient(service.url);
  const submit = () =>
    client().submit({ endpoint: `${service.url}/access/v1/requests`, idempotencyKey: 'k', body: '{}' });
  const task = (more: object) => ({
    task: { id: 'arq_1', status: 'pending', status_endpoint: `${service.url}${STATUS}`, ...more },
  });

  it('as the address of a status is no handle [PRJ-24, ARAP-SEC-02]', async () => {
    says = task({ status_endpoint: evil() });
    await expect(submit()).rejects.toMatchObject({ code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE' });
    expect(reached).toBe(0);
  });

  it('as the address of a cancellation is never used, nor from a handle that was tampered with', async () => {
    says = task({ links: { cancel: evil() } });
    const handle = await submit().catch(() => undefined);
    expect(handle ?? {}).not.toHaveProperty('cancelEndpoint');
    const tampered = { accessRequestId: 'arq_1', statusEndpoint: evil(), cancelEndpoint: evil() };
    await expect(client().read(tampered)).rejects.toThrow();
    await expect(client().cancel(tampered)).rejects.toThrow();
    expect(reached).toBe(0);
  });
});

it('the inside can be reached, when somebody is told to', async () => {
  await aPdpClient(inside.url, { metadata: 'ignored', accessRequestsUrl: `${service.url}/access/v1/requests` })
    .evaluate(QUESTION)
    .catch(() => undefined);
  expect(reached).toBe(1);
});
