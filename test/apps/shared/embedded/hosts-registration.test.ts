import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { openHostState } from '../../../../apps/shared/embedded/identity/host-state.ts';
import { createAdapter } from '../../../../apps/shared/embedded/identity/memory-adapter.ts';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startHostIssuer } from '../../../support/hosts.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const DAY_MS = 86_400_000;
/** A valid file without hosts. */
const NOTHING = '{"version":1,"clients":{},"grants":{},"refreshTokens":{},"documents":{}}';
const AN_HOUR = 3_600;

describe('a flood of registrations', () => {
  let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
  beforeAll(async () => {
    issuer = await startHostIssuer({ settings: { identity: { hosts: { registrationsPerMinute: 5 } } } });
  });
  afterAll(() => issuer.stop());

  it('is refused beyond the rate, with the time to wait', async () => {
    const metadata = { client_name: 'One of many', redirect_uris: ['http://127.0.0.1/cb'] };
    const answers = await Promise.all(Array.from({ length: 60 }, () => issuer.registration(metadata)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 201).length).toBeLessThan(60);
    expect(refused.length).toBeGreaterThan(0);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused[0]?.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: expect.stringMatching(
        /^Too many programs have registered in the last minute\. Try again in \d+ seconds\.$/,
      ),
    });
    expect(issuer.lines.some(({ event }) => event === 'registration_refused')).toBe(true);
  });
});

describe('a registration', () => {
  let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
  beforeAll(async () => {
    issuer = await startHostIssuer({ settings: { identity: { hosts: { registrationsPerMinute: 1_000 } } } });
  });
  afterAll(() => issuer.stop());

  it.each([
    ['a null client_uri', { client_uri: null }],
    ['an empty client_uri', { client_uri: '' }],
    ['a null client_name', { client_name: null }],
    [
      'no name and null for all that it leaves out',
      { client_name: null, client_uri: null, scope: null, contacts: null },
    ],
  ])('with %s is taken as one without it', async (_case, members) => {
    const metadata = { client_name: 'A host', redirect_uris: ['http://127.0.0.1/cb'], ...members };
    const answer = await issuer.registration(metadata);
    const body = (await answer.json()) as Record<string, unknown>;
    expect([answer.status, body]).toEqual([201, expect.objectContaining({ client_id: expect.any(String) })]);
    for (const name of Object.keys(members)) expect(body).not.toHaveProperty(name);
  });

  it.each([
    ['client_uri', 'no address'],
    ['client_uri', 'javascript:alert(1)'],
    ['redirect_uris', null],
    ['redirect_uris', ''],
  ])('with the %s %j is refused', async (name, value) => {
    const metadata = { client_name: 'A host', redirect_uris: ['http://127.0.0.1/cb'], [name]: value };
    expect((await issuer.registration(metadata)).status).toBe(400);
  });
});

describe('registrations', () => {
  let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
  beforeAll(async () => {
    const hosts = { registrationsPerMinute: 10_000, maxRegistrations: 3 };
    issuer = await startHostIssuer({ settings: { identity: { hosts } } });
  });
  afterAll(() => issuer.stop());

  it('are bounded in number: the oldest unused one gives way, and none with which a person is signed in', async () => {
    const used = await issuer.register();
    const { refresh_token: token } = await issuer.signIn(used);
    const unused = await issuer.register();
    for (let more = 0; more < 5; more += 1) await issuer.register();
    expect(Object.keys(issuer.kept.clients)).toHaveLength(3);
    expect((await issuer.refresh(used, token)).status).toBe(200);
    expect((await issuer.open((await issuer.asks(unused)).address)).answer.status).toBe(400);
  });

  it('are refused when each one is in use', async () => {
    for (let more = 0; more < 2; more += 1) await issuer.signIn(await issuer.register());
    const answer = await issuer.registration({ client_name: 'One more', redirect_uris: ['http://127.0.0.1/cb'] });
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        error: 'temporarily_unavailable',
        error_description: expect.stringContaining('identity.hosts.maxRegistrations'),
      },
    ]);
  });
});

describe('the metadata of a registration', () => {
  let issuer: Awaited<ReturnType<typeof startHostIssuer>>;
  beforeAll(async () => {
    issuer = await startHostIssuer({ settings: { identity: { hosts: { registrationsPerMinute: 10_000 } } } });
  });
  afterAll(() => issuer.stop());

  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${issuer.url}/reg`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
  const good = { client_name: 'A host', redirect_uris: ['http://127.0.0.1/cb'] };

  it('is bounded in size', async () => {
    expect((await post(JSON.stringify({ ...good, more: 'x'.repeat(17_000) }))).status).toBe(413);
    const chunks = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(JSON.stringify({ ...good, more: 'x'.repeat(60_000) })));
        controller.close();
      },
    });
    const chunked = { method: 'POST', body: chunks, duplex: 'half', headers: { 'content-type': 'application/json' } };
    expect((await fetch(`${issuer.url}/reg`, chunked as RequestInit)).status).toBeGreaterThanOrEqual(400);
  });

  it.each([
    ['[]', 'invalid_request'],
    ['{', 'invalid_request'],
    [JSON.stringify({ ...good, client_name: 'x'.repeat(101) }), 'invalid_client_metadata'],
    [JSON.stringify({ ...good, client_name: '\ud800' }), 'invalid_client_metadata'],
    [JSON.stringify({ client_name: 'A host' }), 'invalid_redirect_uri'],
    [
      JSON.stringify({ ...good, redirect_uris: Array.from({ length: 11 }, (_, at) => `http://127.0.0.1/${at}`) }),
      'invalid_redirect_uri',
    ],
    [JSON.stringify({ ...good, redirect_uris: [`http://127.0.0.1/${'x'.repeat(1_000)}`] }), 'invalid_redirect_uri'],
  ])('is refused: %.60s', async (body, error) => {
    const answer = await post(body);
    expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ error })]);
    expect(issuer.kept.clients).toEqual({});
  });

  it('is accepted from pages of this machine, and of no other site', async () => {
    const own = await post(JSON.stringify(good), { origin: 'http://localhost:6274' });
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([201, 'http://localhost:6274']);
    const foreign = await post(JSON.stringify(good), { origin: 'https://evil.example' });
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});

describe('what is kept of hosts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'host-state-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const log = pino({ level: 'silent' });
  let files = 0;
  const open = (clock = new ManualClock(), file = join(folder, `identity-${(files += 1)}.json`)) => ({
    clock,
    file,
    state: openHostState({ file, maxRegistrations: 10, clock, log }),
  });
  const signedIn = { clientName: '', redirectUri: 'http://127.0.0.1/cb', resource: 'http://127.0.0.1/mcp', scopes: [] };

  it('forgets a registration without a sign-in after a day, and keeps the others', () => {
    const { state, clock, file } = open();
    for (const id of ['Host-a', 'Host-b']) state.clients.add(id, { client_id: id });
    const exp = clock.now() / 1_000 + 30 * 24 * AN_HOUR;
    state.grants.put('a-grant', { clientId: 'Host-a', exp });
    state.grants.agree('a-grant', { ...signedIn, clientId: 'Host-a' });
    clock.set(clock.now() + DAY_MS);
    state.clean();
    expect([state.clients.find('Host-a'), state.clients.find('Host-b')]).toEqual([{ client_id: 'Host-a' }, undefined]);
    expect(open(clock, file).state.clients.find('Host-a')).toEqual({ client_id: 'Host-a' });
  });

  it('forgets a sign-in that is over, with its tokens', () => {
    const { state, clock, file } = open();
    const exp = clock.now() / 1_000 + AN_HOUR;
    state.grants.put('a-grant', { clientId: 'Host-a', exp });
    state.grants.agree('a-grant', { ...signedIn, clientId: 'Host-a' });
    state.refreshTokens.put('a-token', { grantId: 'a-grant', clientId: 'Host-a', iat: exp, exp: exp + AN_HOUR });
    expect(open(clock, file).state.refreshTokens.find('a-token')).toMatchObject({ grantId: 'a-grant', jti: 'a-token' });
    clock.set(clock.now() + AN_HOUR * 1_000);
    state.clean();
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ grants: {}, refreshTokens: {} });
  });

  it('gives no token for a sign-in that has ended meanwhile', () => {
    const { state } = open();
    expect(state.refreshTokens.put('a-token', { grantId: 'gone', clientId: 'Host-a', iat: 1, exp: 2 })).toBe(false);
  });

  it('uses a refresh token up once', () => {
    const { state, clock } = open();
    const exp = clock.now() / 1_000 + AN_HOUR;
    state.grants.put('a-grant', { clientId: 'Host-a', exp });
    state.refreshTokens.put('a-token', { grantId: 'a-grant', clientId: 'Host-a', iat: 1, exp });
    expect([state.refreshTokens.consume('a-token', 1), state.refreshTokens.consume('a-token', 2)]).toEqual([
      true,
      false,
    ]);
  });

  it.each(['RefreshToken', 'AuthorizationCode'])('ends the sign-in when two requests use one %s', async (model) => {
    const { state, clock } = open();
    const adapter = createAdapter(state, () => undefined);
    const exp = clock.now() / 1_000 + AN_HOUR;
    state.grants.put('a-grant', { clientId: 'Host-a', exp });
    const used = adapter(model);
    await used.upsert('an-id', { clientId: 'Host-a', grantId: 'a-grant', iat: 1, exp }, AN_HOUR);
    await used.consume('an-id');
    await expect(used.consume('an-id')).rejects.toThrow('invalid_grant');
    expect(state.grants.find('a-grant')).toBeUndefined();
    // The first request may still be about to give its token out.
    const late = adapter('RefreshToken').upsert(
      'late',
      { clientId: 'Host-a', grantId: 'a-grant', iat: 1, exp },
      AN_HOUR,
    );
    await expect(late).rejects.toThrow('invalid_grant');
  });

  it.each([
    ['is damaged', (file: string) => writeFileSync(file, '{"version":1', { mode: 0o600 })],
    ['others can read', (file: string) => writeFileSync(file, NOTHING, { mode: 0o644 })],
  ])('sets a file aside that %s, and goes on', (_what, spoil) => {
    const file = join(folder, `identity-${(files += 1)}.json`);
    spoil(file);
    const { state } = open(new ManualClock(), file);
    expect(statSync(`${file}.damaged`).isFile()).toBe(true);
    state.clients.add('Host-a', { client_id: 'Host-a' });
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  });
});
