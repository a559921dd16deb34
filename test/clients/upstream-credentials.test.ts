import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import { jwtVerify, type JWK, type JWTPayload } from 'jose';
import { pino } from 'pino';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { HttpUpstream, UpstreamAuth } from '../../activities/clients/upstream/credentials.ts';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import { anAskableClient } from '../support/askable-client.ts';
import { AskingServer } from '../support/asking-server.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { serve } from '../support/serve.ts';
import { PATIENT_LIMITS, systemTime } from '../support/time.ts';
import { openUpstreams } from '../support/upstreams.ts';
import { BY_KEY, BY_SECRET, keyPair, startTokenServer, TOKEN_EXCHANGE, UNKNOWN } from '../support/token-server.ts';

const SECRET = 'a secret of thirty-two characters';
const ALICE: Principal = { issuer: 'https://idp.test', subject: 'alice', clientId: 'agent-7' };
const BOB: Principal = { issuer: 'https://idp.test', subject: 'bob' };

let tokens!: Awaited<ReturnType<typeof startTokenServer>>;
let privateJwk!: JWK;
let upstream!: HttpServer;
let folder!: string;
/** For each method, the caller and the credential. */
let asked: { method: string; claims?: JWTPayload | undefined; headers: Record<string, unknown> }[] = [];
let logged: string[] = [];
let isLockedOut = false;
let pool: UpstreamPool | undefined;

beforeAll(async () => {
  const key = await keyPair('client');
  ({ privateJwk } = key);
  folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  tokens = await startTokenServer(SECRET, key.publicJwk);
  upstream = await serve(protectedServer());
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await Promise.all([tokens.close(), upstream.close()]);
});
beforeEach(() => {
  [asked, logged, isLockedOut] = [[], [], false];
  tokens.seen.grants.length = 0;
  tokens.seen.subjects.length = 0;
});
afterEach(async () => {
  await pool?.close();
  pool = undefined;
});

const NEVER = new AbortController().signal;
const url = () => `${upstream.url}/mcp`;
/** A server on the official package that identifies its callers and refuses some. */
function protectedServer() {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'protected', version: '1.0.0' });
    server.registerTool('act', {}, async () => ({ content: [{ type: 'text', text: 'done' }] }));
    return server;
  });
  const app = express();
  app.use(express.json());
  const node = toNodeHandler(handler);
  app.all('/mcp', async (request, response) => {
    const { method = '' } = (request.body ?? {}) as { method?: string };
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const verified = await jwtVerify(token, tokens.publicKey, { issuer: tokens.url, audience: url() }).catch(
      () => undefined,
    );
    asked.push({ method, claims: verified?.payload, headers: request.headers });
    if (isLockedOut) return void response.status(401).end();
    await node(request, response, request.body);
  });
  return app;
}

const connect = (how: Partial<HttpUpstream> & { auth?: UpstreamAuth } = {}, time = systemTime) => {
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  pool = openUpstreams({ bank: { url: url(), ...how } }, log, {}, time);
  return pool;
};
const bySecret = (): UpstreamAuth => ({
  issuer: tokens.url,
  clientId: BY_SECRET,
  clientSecret: SECRET,
  onBehalfOfCaller: false,
});
const byKey = (onBehalfOfCaller: boolean): UpstreamAuth => ({
  issuer: tokens.url,
  clientId: BY_KEY,
  privateKey: JSON.stringify(privateJwk),
  scope: 'use',
  onBehalfOfCaller,
});
const act = (caller?: Principal) =>
  pool?.call({ upstream: 'bank', upstreamTool: 'act', arguments: {}, ...(caller && { caller }) }, { signal: NEVER });
const DONE = { kind: 'result', result: { content: [{ type: 'text', text: 'done' }] } };
const callsSeen = () => asked.filter(({ method }) => method === 'tools/call');

describe('the credential of the gateway itself', () => {
  it.each([
    ['a secret', bySecret],
    ['a key', () => byKey(false)],
  ])('is fetched with %s on first use, for this upstream only, and used until it expires', async (_, auth) => {
    connect({ auth: auth() });

    for (const caller of [ALICE, BOB]) expect(await act(caller)).toMatchObject(DONE);

    expect(tokens.seen.grants).toEqual(['client_credentials']);
    expect(new Set(asked.map(({ claims }) => claims?.['client_id']))).toEqual(new Set([auth().clientId]));
  });

  it('is fetched again after the upstream refused it, without a repetition of the refused call', async () => {
    // Its list of tools is good for a second, by a clock that stands still: it is not read while everything is refused.
    connect({ auth: bySecret() }, { clock: new ManualClock(), limits: PATIENT_LIMITS });
    expect(await act()).toMatchObject(DONE);
    isLockedOut = true;
    expect(await act()).toMatchObject({ kind: 'error', message: expect.stringContaining('401') as unknown });
    expect(callsSeen()).toHaveLength(2);
    isLockedOut = false;
    expect(await act()).toMatchObject(DONE);
    expect(tokens.seen.grants).toEqual(['client_credentials', 'client_credentials']);
  });

  it('is read from its file at each use', async () => {
    const file = join(folder, 'api-key');
    writeFileSync(file, 'first\n');
    connect({ headers: { 'x-api-key': { file }, 'x-token': { file, scheme: 'Bearer' }, 'x-plain': 'as it is' } });
    await act();
    writeFileSync(file, 'second\n');
    await act();
    const names = ['x-api-key', 'x-token', 'x-plain'];
    expect(callsSeen().map(({ headers }) => names.map((name) => headers[name]))).toEqual([
      ['first', 'Bearer first', 'as it is'],
      ['second', 'Bearer second', 'as it is'],
    ]);
  });
});

describe('a token on behalf of the caller', () => {
  it("names the caller of each call, and other requests use the gateway's own", async () => {
    connect({ auth: byKey(true) });
    for (const caller of [ALICE, BOB, ALICE, undefined]) expect(await act(caller)).toMatchObject(DONE);
    expect(callsSeen().map(({ claims }) => claims?.sub)).toEqual(['alice', 'bob', 'alice', BY_KEY]);
    expect(tokens.seen.grants.filter((grant) => grant === TOKEN_EXCHANGE)).toHaveLength(3);
    const others = asked.filter(({ method }) => method !== 'tools/call');
    expect(new Set(others.map(({ claims }) => claims?.sub))).toEqual(new Set([BY_KEY]));
  });

  it('names the caller of other requests on behalf of the caller', async () => {
    const request = { upstream: 'bank', method: 'resources/read', params: { uri: 'x://1' }, caller: ALICE } as const;
    await connect({ auth: byKey(true) }).items.ask(request, { signal: NEVER });
    expect(asked.find(({ method }) => method === 'resources/read')?.claims?.sub).toBe('alice');
  });

  it('also goes with what belongs to no call on the connection of a session of the caller', async () => {
    const server = await new AskingServer().start();
    pool = openUpstreams({ bank: { url: server.url, auth: { ...byKey(true), resource: url() } } });
    const askable = { ...anAskableClient('session').askable, caller: ALICE };
    const args = { method: 'elicitation/create' };
    const call = { upstream: 'bank', upstreamTool: 'ask_aside', arguments: args, caller: ALICE };
    const answer = await pool.relay({ ...call, conversation: { capabilities: {} } }, { signal: NEVER, askable });
    expect(JSON.stringify(answer)).toContain('decline');
    const subjectOf = async ({ authorization = '' }: { authorization: string | undefined }) =>
      (await jwtVerify(authorization.replace('Bearer ', ''), tokens.publicKey)).payload.sub;
    const subjects = await Promise.all(server.came.map(async (one) => `${one.method} ${await subjectOf(one)}`));
    const own = subjects.slice(subjects.lastIndexOf('initialize alice'));
    expect(own).toEqual(expect.arrayContaining(['tools/call alice', 'answer alice']));
    expect(own.filter((one) => !one.endsWith(' alice'))).toEqual([]);
    await server.close();
  });

  it('is requested with the caller, the issuer and the client, for a minute', async () => {
    connect({ auth: byKey(true) });
    await act(ALICE);
    const [said] = tokens.seen.subjects;
    expect(said).toMatchObject({
      iss: BY_KEY,
      sub: 'alice',
      client_id: 'agent-7',
      sub_id: { format: 'iss_sub', iss: 'https://idp.test', sub: 'alice' },
    });
    expect(Number(said?.['exp']) - Number(said?.['iat'])).toBe(60);
  });
});

describe('without a credential', () => {
  it.each([
    ['the secret is wrong', () => ({ auth: { ...bySecret(), clientSecret: 'canary-secret' } })],
    [
      'the issuer does not answer',
      () => ({ auth: { ...bySecret(), issuer: 'http://127.0.0.1:9', clientSecret: 'canary-secret' } }),
    ],
    ['the file is missing', () => ({ headers: { 'x-api-key': { file: join(folder, 'nothing') } } })],
  ])('because %s, no request is sent, and no secret is logged', async (_, how) => {
    connect(how());
    expect(await act(ALICE)).toEqual({ kind: 'not_sent', cause: 'ERR_UPSTREAM_UNAVAILABLE' });
    expect(asked).toEqual([]);
    expect(logged.join('')).not.toContain('canary-secret');
  });

  it('of its caller, a call is not sent, even if other callers have one', async () => {
    connect({ auth: byKey(true) });
    expect(await act(ALICE)).toMatchObject(DONE);
    const before = asked.length;
    expect(await act({ ...BOB, subject: UNKNOWN })).toEqual({ kind: 'not_sent', cause: 'ERR_UPSTREAM_UNAVAILABLE' });
    expect(asked).toHaveLength(before);
  });
});
