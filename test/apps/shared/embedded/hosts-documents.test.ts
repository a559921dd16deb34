import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { lookup } from 'node:dns';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createIssuerFetch } from '../../../../apps/shared/embedded/identity/host-documents.ts';
import { createGuardedAgent } from '../../../../apps/shared/http/guarded-agent.ts';
import { DOCUMENT_CA, DocumentServer } from '../../../support/document-server.ts';
import { type Host, startHostIssuer } from '../../../support/hosts.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { PATIENT_LIMITS } from '../../../support/time.ts';
import { waitFor } from '../../../support/wait-for.ts';

const REDIRECT = 'http://localhost:42301/callback';
let documents: DocumentServer;
beforeAll(async () => {
  documents = await new DocumentServer().start();
});
afterAll(() => documents.stop());

type Issuer = Awaited<ReturnType<typeof startHostIssuer>>;
/** An issuer that may read documents from this machine. */
const startReadingIssuer = () => {
  const hosts = { documentNetworks: ['127.0.0.0/8'] };
  return startHostIssuer({ settings: { identity: { hosts } }, testing: { ca: DOCUMENT_CA } });
};
const openFor = async (issuer: Issuer, id: string) =>
  issuer.open((await issuer.asks({ id, redirectUri: REDIRECT })).address);

describe('a host with a document', () => {
  let issuer: Issuer;
  beforeAll(async () => void (issuer = await startReadingIssuer()));
  // The number of fetches per minute is bounded.
  beforeEach(() => issuer.restart());
  afterAll(() => issuer.stop());

  it('signs a person in on any port, and is known by the place of its document', async () => {
    const id = documents.serve('/code', {
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    });
    const { html } = await openFor(issuer, id);
    const text = html.replace(/<[^>]+>/g, '');
    expect(text).toContain(`127.0.0.1:${documents.port}, which publishes a document about it: ${id}`);
    const tokens = await issuer.signIn({ id, redirectUri: REDIRECT });
    expect(decodeJwt(String(tokens['access_token']))).toMatchObject({
      client_id: id,
      sub: 'bob',
      aud: issuer.config.urls.mcp,
    });
  });

  it('fetches nothing that the document names', async () => {
    const named = ['jwks_uri', 'sector_identifier_uri', 'backchannel_logout_uri', 'logo_uri', 'tos_uri', 'policy_uri'];
    const members = Object.fromEntries(named.map((name) => [name, documents.idOf(`/${name}`)]));
    const host = { id: documents.serve('/greedy', members), redirectUri: REDIRECT };
    const { refresh_token: token } = await issuer.signIn(host);
    expect((await issuer.refresh(host, token)).status).toBe(200);
    expect(documents.requests.filter((path) => named.includes(path.slice(1)))).toEqual([]);
  });

  it('stays signed in while its server is away, and not when its document is gone', async () => {
    const host = { id: documents.serve('/away'), redirectUri: REDIRECT };
    const first = await issuer.signIn(host);
    // Its cache ends with the process.
    await issuer.restart();
    documents.answers.set('/away', (response) => response.destroy());
    const second = await issuer.refresh(host, first['refresh_token']);
    expect(second.status).toBe(200);
    await issuer.restart();
    expect((await openFor(issuer, host.id)).answer.status).toBe(400);
    documents.answers.delete('/away');
    const third = await issuer.refresh(host, second.body['refresh_token']);
    expect(third.body['error']).toBe('invalid_client');
  });

  it('has to ask again when it has another name, or goes back elsewhere', async () => {
    for (const change of [{ client_name: 'Another' }, { redirect_uris: ['http://localhost/other'] }]) {
      const host = { id: documents.serve('/changing'), redirectUri: REDIRECT };
      const { refresh_token: token } = await issuer.signIn(host);
      documents.serve('/changing', change);
      await issuer.restart();
      expect(await issuer.refresh(host, token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      expect(issuer.lines.some(({ event, client }) => event === 'host_changed' && client === host.id)).toBe(true);
      documents.serve('/changing');
      await issuer.restart();
      expect((await issuer.refresh(host, token)).status).toBe(400);
    }
  });

  it('is asked about again when its document changes while the page is open', async () => {
    const host: Host = { id: documents.serve('/open'), redirectUri: REDIRECT };
    const page = await issuer.open((await issuer.asks(host)).address);
    await new Promise((resolve) => setImmediate(resolve));
    const stale = { ...page, agreement: page.agreement.replace(/./g, '0') };
    const again = await stale.browser.go(stale.action, { person: 'bob', agreement: stale.agreement });
    expect([again.status, await again.text()]).toEqual([
      200,
      expect.stringContaining('has changed since you opened this page'),
    ]);
    const without = await page.browser.go(page.action, { person: 'bob' });
    expect(without.headers.get('location')).toBeNull();
  });

  it.each<[string, (response: ServerResponse, id: string) => void]>([
    ['redirects', (response) => response.writeHead(302, { location: documents.idOf('/target') }).end()],
    ['is too large', (response, id) => json(response, { client_id: id, client_name: 'x', more: 'x'.repeat(6_000) })],
    [
      'is a page',
      (response, id) => response.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(about(id))),
    ],
    ['is another host', (response) => json(response, about(documents.idOf('/elsewhere')))],
    ['has a secret', (response, id) => json(response, { ...about(id), client_secret: 'x'.repeat(40) })],
    ['has no name', (response, id) => json(response, { ...about(id), client_name: undefined })],
    [
      'goes back to another machine without TLS',
      (response, id) => json(response, { ...about(id), redirect_uris: ['http://a.example/'] }),
    ],
    ['is no JSON', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('<html>')],
    ['is a list', (response) => json(response, [])],
    ['is a bomb', (response, id) => bomb(response, id)],
    ['never ends', (response) => endless(response)],
  ])('is refused when its document %s', async (what, answer) => {
    const path = `/${what.replaceAll(' ', '-')}`;
    documents.serve('/target');
    documents.answers.set(path, answer);
    const { answer: page, html } = await openFor(issuer, documents.idOf(path));
    expect([page.status, page.headers.get('location')]).toEqual([400, null]);
    expect(html).toContain(`its document at 127.0.0.1:${documents.port} could not be read`);
    expect(documents.requests.filter((one) => one === '/target')).toEqual([]);
    // Nothing of it is kept: a good document is used at once.
    documents.serve(path);
    expect((await openFor(issuer, documents.idOf(path))).answer.status).toBe(200);
  });

  it('is fetched once for requests at the same moment', async () => {
    // Without this, it would be fetched again after half a minute.
    const id = documents.serve('/popular', {}, { 'cache-control': 'max-age=3600' });
    const pages = await Promise.all(Array.from({ length: 20 }, () => openFor(issuer, id)));
    expect(pages.map(({ answer }) => answer.status)).toEqual(pages.map(() => 200));
    expect(documents.requests.filter((path) => path === '/popular')).toHaveLength(1);
  });
});

describe('the number of fetches', () => {
  let issuer: Issuer;
  beforeAll(async () => void (issuer = await startReadingIssuer()));
  afterAll(() => issuer.stop());

  it('is bounded by the minute over all', async () => {
    const ids = Array.from({ length: 100 }, (_, at) => documents.serve(`/flood/${at}`));
    await Promise.all(ids.map((id) => openFor(issuer, id)));
    expect(documents.requests.filter((path) => path.startsWith('/flood/')).length).toBeLessThan(100);
  });
});

describe('the guard of fetches', () => {
  const connections: string[] = [];
  let issuer: Issuer;
  const answers: string[] = [];
  const resolving = ((name: string, _options: object, done: (error: null, found: object[]) => void) => {
    connections.push(name);
    const address = answers.shift() ?? '127.0.0.1';
    done(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
  }) as unknown as typeof lookup;
  beforeAll(async () => {
    issuer = await startHostIssuer({ testing: { ca: DOCUMENT_CA, lookup: resolving } });
  });
  afterAll(() => issuer.stop());

  it.each([
    'https://127.0.0.1:PORT/x',
    'https://[::1]:PORT/x',
    'https://[::ffff:127.0.0.1]:PORT/x',
    'https://169.254.169.254/x',
    'https://10.0.0.1/x',
    'https://0x7f.1:PORT/x',
    'https://2130706433:PORT/x',
    'https://rebinding.example:PORT/x',
    'https://localhost:PORT/x',
  ])('refuses %s before it connects', async (address) => {
    documents.serve('/x');
    const before = documents.connections;
    const { answer, html } = await openFor(issuer, address.replace('PORT', String(documents.port)));
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(html).toContain('could not be read');
    expect(documents.connections).toBe(before);
  });

  it.each(['10.0.0.1', '::1', '192.168.1.1', 'fd00::1', '169.254.169.254'])(
    'refuses a name that resolves to %s',
    async (address) => {
      answers.splice(0, Infinity, address);
      const { answer } = await openFor(issuer, `https://rebinding-${address.length}.example:${documents.port}/x`);
      expect(answer.status).toBe(400);
    },
  );

  it.each([
    'http://host.example/x',
    'https://host.example',
    'https://host.example/',
    'https://host.example/a/../x',
    'https://host.example/x#f',
    'https://u@host.example/x',
    `https://host.example/${'x'.repeat(1_000)}`,
  ])('asks no resolver for %.60s', async (address) => {
    connections.length = 0;
    const { answer } = await openFor(issuer, address);
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(connections).toEqual([]);
  });
});

describe('a fetch of the issuer', () => {
  const guard = createGuardedAgent(['127.0.0.0/8'], { advice: '', ca: DOCUMENT_CA });
  afterAll(() => guard.agent.destroy());
  const kept = { keep: () => undefined, find: () => undefined };
  const fetchWith = (clock = new ManualClock()) =>
    createIssuerFetch({ ownPages: new Set(), guard, documents: kept, clock, limits: PATIENT_LIMITS });
  const NOT_READ = 'the document of the host could not be read';

  it('gives a document up that comes too slowly', async () => {
    documents.answers.set(
      '/slow',
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
    );
    const clock = new ManualClock();
    const answer = fetchWith(clock)(documents.idOf('/slow')).then(
      () => 'answered',
      (error: Error) => error.message,
    );
    await waitFor(() => documents.requests.includes('/slow'));
    await clock.advance(PATIENT_LIMITS.hostDocumentMs);
    expect(await answer).toBe(NOT_READ);
  });

  it('reads no more of a document than a document may have', async () => {
    documents.answers.set('/bomb', bomb);
    await expect(fetchWith()(documents.idOf('/bomb'))).rejects.toThrow(NOT_READ);
  });

  it('goes to no private address that is not allowed', async () => {
    await expect(fetchWith()('https://10.0.0.1/x')).rejects.toThrow('10.0.0.1 is not a public address');
  });
});

const about = (id: string) => ({
  client_id: id,
  client_name: 'Documented',
  redirect_uris: ['http://localhost/callback'],
});

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** 20 MB that travel as 20 kB. */
function bomb(response: ServerResponse, id: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  response.end(gzipSync(JSON.stringify({ ...about(id), more: ' '.repeat(20_000_000) })));
}

function endless(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '.repeat(1_000)), 1);
  response.once('close', () => clearInterval(timer));
}
