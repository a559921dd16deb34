import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request as send } from 'undici';
import { GatewayUnderTest } from '../../support/gateway.ts';

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = new GatewayUnderTest({ allowedOrigins: ['inspector.example'] });
  await gateway.start();
});
afterAll(() => gateway.stop());

const PATHS = ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'];
const port = () => new URL(gateway.url).port;

/** A request to the gateway under another name. */
async function under(host: string, path: string, headers: Record<string, string> = {}) {
  const {
    statusCode,
    headers: answered,
    body,
  } = await send(`${gateway.url}${path}`, { headers: { host, ...headers } });
  const text = await body.text();
  return { status: statusCode, headers: answered, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : text };
}

describe('the metadata of the protected resource', () => {
  it.each(PATHS)('names the resource as its client knows it, at %s', async (path) => {
    for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
      const { status, body } = await under(`${name}:${port()}`, path);
      expect([status, body]).toEqual([
        200,
        expect.objectContaining({
          resource: `http://${name}:${port()}/mcp`,
          authorization_servers: ['http://127.0.0.1:4104'],
        }),
      ]);
    }
  });

  it('names the configured resource for another port, and no resource for another host', async () => {
    const [path = ''] = PATHS;
    expect((await under('localhost:1', path)).body).toMatchObject({ resource: gateway.mcpUrl });
    expect((await under('elsewhere.example', path)).status).toBe(403);
  });

  it('may be read by pages of every site', async () => {
    const { status, headers } = await under(`localhost:${port()}`, PATHS[0] ?? '', {
      origin: 'https://elsewhere.example',
    });
    expect([status, headers['access-control-allow-origin']]).toEqual([200, '*']);
  });

  it('is named by the challenge, under the name that the client uses', async () => {
    const { headers } = await under(`localhost:${port()}`, '/mcp');
    expect(headers['www-authenticate']).toContain(`resource_metadata="http://localhost:${port()}${PATHS[0]}"`);
  });
});

describe('a page that calls the endpoint', () => {
  const preflight = (origin: string) =>
    fetch(gateway.mcpUrl, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, mcp-session-id, cookie',
      },
    });

  it('may send its token and the headers of MCP, from this machine and from an allowed site', async () => {
    for (const origin of ['http://localhost:6274', 'https://inspector.example']) {
      const { status, headers } = await preflight(origin);
      expect([status, headers.get('access-control-allow-origin'), headers.get('access-control-allow-headers')]).toEqual(
        [204, origin, 'authorization, mcp-session-id'],
      );
      expect(headers.get('access-control-allow-credentials')).toBeNull();
    }
  });

  it('may read the challenge', async () => {
    const answer = await fetch(gateway.mcpUrl, { method: 'POST', headers: { origin: 'http://localhost:6274' } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([401, 'http://localhost:6274']);
    expect(answer.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
  });

  it('of another site is refused', async () => {
    const { status, headers } = await preflight('https://evil.example');
    expect([status, headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});
