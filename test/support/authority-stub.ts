import { type Clock, systemClock } from '../../apps/shared/clock.ts';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { serve } from './serve.ts';

export interface Seen {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export const SCHEMA_PATH = '/canary-schemas/request.json';

/**
 * Every service that the gateway asks, on one port and under a test's control: an issuer of tokens, a policy decision
 * point and an access request service. It gives the answers of `decide` and `accept`, waits while they do, and
 * remembers the requests.
 */
export async function anAuthority(clock: Pick<Clock, 'now'> = systemClock) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const other = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' };
  const seen: Seen[] = [];
  const authority = {
    url: '',
    seen,
    decide: (): unknown => ({ decision: true }),
    accept: (): Answer | Promise<Answer> => ({ status: 503, body: {} }),
    /** Values that an access request needs beside the call. */
    schema: (): Answer => ({ status: 404, body: {} }),
    /** All other requests to it. */
    other: (_url: URL): Answer | Promise<Answer> | undefined => undefined,
    async token(claims: JWTPayload = {}, forged = false): Promise<string> {
      const now = Math.floor(clock.now() / 1_000);
      return new SignJWT({
        client_id: 'agent-7',
        scope: 'mcp',
        iat: now,
        exp: now + 300,
        sub: 'alice',
        iss: authority.url,
        ...claims,
      })
        .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
        .sign(forged ? other.privateKey : privateKey);
    },
    submissions: () => seen.filter(({ path }) => path === '/access/v1/requests'),
    close: () => server.close(),
  };
  const answers: Record<string, () => Answer | Promise<Answer>> = {
    '/.well-known/openid-configuration': () => ({
      status: 200,
      body: { issuer: authority.url, jwks_uri: `${authority.url}/jwks` },
    }),
    '/jwks': () => ({ status: 200, body: { keys: [jwk] } }),
    '/access/v1/evaluation': async () => ({ status: 200, body: await authority.decide() }),
    '/access/v1/requests': () => authority.accept(),
    [SCHEMA_PATH]: () => authority.schema(),
  };
  const server = await serve((request, response) => {
    void text(request).then(async (received) => {
      const path = request.url ?? '';
      seen.push({ path, headers: request.headers, body: received });
      const { status, body } = (await answers[path.split('?')[0] ?? '']?.()) ??
        (await authority.other(new URL(path, authority.url))) ?? { status: 404, body: {} };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  authority.url = server.url;
  return authority;
}
