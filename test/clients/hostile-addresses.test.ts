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

/** A private server that must not be reached, and the services that lead to it. */
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

/** All ways to write an address of this machine, of its network, or of no network. */
const SPELLINGS: readonly [string, (port: string) => string][] = [
  ['a loopback address', (port) => `http://127.0.0.1:${port}/`],
  ['a short form of a loopback address', (port) => `http://127.1:${port}/`],
  ['a loopback address in hexadecimal', (port) => `http://0x7f.1:${port}/`],
  ['a loopback address in octal', (port) => `http://0177.0.0.1:${port}/`],
  ['a loopback address as one number', (port) => `http://2130706433:${port}/`],
  ['the name localhost', (port) => `http://localhost:${port}/`],
  ['the name localhost with a dot', (port) => `http://localhost.:${port}/`],
  ['the IPv6 loopback address', (port) => `http://[::1]:${port}/`],
  ['a loopback address as IPv4 in IPv6', (port) => `http://[::ffff:127.0.0.1]:${port}/`],
  ['the unspecified address', (port) => `http://0:${port}/`],
  ['the unspecified address, written out', (port) => `http://0.0.0.0:${port}/`],
  ['full-width dots', (port) => `http://127。0。0。1:${port}/`],
  ['a private network address', () => 'http://10.0.0.1/'],
  ['a cloud metadata address', () => 'http://169.254.169.254/latest/meta-data/'],
  ['another scheme', (port) => `https://127.0.0.1:${port}/`],
  ['a file address', () => 'file:///etc/passwd'],
  ['gopher', (port) => `gopher://127.0.0.1:${port}/`],
  ['data', () => 'data:application/json,{"decision":true}'],
  ['no scheme', (port) => `//127.0.0.1:${port}/`],
  ['the trusted address as a user name', (port) => `${service.url}@127.0.0.1:${port}/`],
  ['a host with the trusted one as its prefix', () => `${service.url}.evil.test/`],
];

describe.each(SPELLINGS)('%s', (_name, spelled) => {
  const evil = () => spelled(new URL(inside.url).port);

  it.each(['endpoint', 'request_schema_url'])(
    'as the %s of a denial makes it a plain denial [PRJ-24, ARAP-SEC-02]',
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

  it('as a status address makes the handle invalid [PRJ-24, ARAP-SEC-02]', async () => {
    says = task({ status_endpoint: evil() });
    await expect(submit()).rejects.toMatchObject({ code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE' });
    expect(reached).toBe(0);
  });

  it('as a cancellation address is never used, also in a stored handle that was tampered with', async () => {
    says = task({ links: { cancel: evil() } });
    const handle = await submit().catch(() => undefined);
    expect(handle ?? {}).not.toHaveProperty('cancelEndpoint');
    const tampered = { accessRequestId: 'arq_1', statusEndpoint: evil(), cancelEndpoint: evil() };
    await expect(client().read(tampered)).rejects.toThrow();
    await expect(client().cancel(tampered)).rejects.toThrow();
    expect(reached).toBe(0);
  });
});

describe('the page on which people decide', () => {
  const pageOf = async (ticket: unknown) => {
    says = {
      task: { id: 'arq_1', status: 'pending', status_endpoint: `${service.url}${STATUS}`, links: { ticket } },
    };
    const endpoint = `${service.url}/access/v1/requests`;
    return (await anAccessRequestClient(service.url).submit({ endpoint, idempotencyKey: 'k', body: '{}' }))
      .approvalPage;
  };

  it('is kept as one word, if it is on a trusted origin [ARAP-SEC-08]', async () => {
    expect(await pageOf(`${service.url}/requests/arq 1?a="b"`)).toBe(`${service.url}/requests/arq%201?a=%22b%22`);
  });

  it.each([
    ['is on another origin', () => 'https://evil.test/requests/1'],
    ['names the trusted host as its user', () => `http://${new URL(service.url).host}@127.0.0.1:1/`],
    ['has a user and a password', () => service.url.replace('://', '://approvals.example:x@')],
    ['has a user', () => service.url.replace('://', '://approvals.example:@')],
    ['is a script', () => 'javascript:alert(1)'],
    ['is too long', () => `${service.url}/${'x'.repeat(3_000)}`],
    ['is no text', () => ({})],
  ])('is left out if it %s, and the handle is used without it [ARAP-TSK-13]', async (_case, ticket) => {
    expect(await pageOf(ticket())).toBeUndefined();
  });
});

it('a private address is reachable when it is configured', async () => {
  await aPdpClient(inside.url, { metadata: 'ignored', accessRequestsUrl: `${service.url}/access/v1/requests` })
    .evaluate(QUESTION)
    .catch(() => undefined);
  expect(reached).toBe(1);
});
