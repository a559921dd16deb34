import { readFileSync } from 'node:fs';
import { get, type IncomingHttpHeaders } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import { pino } from 'pino';
import { packagePath } from '../../../../apps/shared/config/files.ts';
import { parseConfig } from '../../../../apps/shared/config/config.ts';
import { limitByAddress } from '../../../../apps/shared/http/address-limit.ts';
import { bearerAmong } from '../../../../apps/shared/http/bearer.ts';
import { type HttpServer, listen } from '../../../../apps/shared/http/listen.ts';
import { GatewayUnderTest } from '../../../support/gateway.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { systemTime } from '../../../support/time.ts';

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** A service that requires a token, and accepts this many requests per second without a good one. */
async function start(maxUnknownPerSecond: number, trustedProxies: readonly string[] = [], host = '127.0.0.1') {
  const lines: string[] = [];
  const served: string[] = [];
  const app = express();
  app.use((request, _response, next) => {
    served.push(request.headers.authorization ?? 'none');
    next();
  });
  app.get('/public', (_request, response) => void response.json({}));
  app.use(
    bearerAmong({ holders: [{ token: 'good' }], realm: 'test' }, (_why, response) => void response.status(401).end()),
  );
  app.get('/', (_request, response) => void response.json({}));
  const { addresses } = parseConfig(
    { addresses: { maxUnknownPerSecond, trustedProxies } },
    { baseDir: '/', stateDir: '/' },
  );
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const server = await listen(app, { ...systemTime, host, port: 0, admit: limitByAddress(addresses, log) });
  servers.push(server);
  const ask = (token: string, from?: string, path = '/') =>
    new Promise<{ status: number; headers: IncomingHttpHeaders }>((resolve, reject) => {
      const forwarded = from === undefined ? {} : { 'x-forwarded-for': from };
      get(
        `${server.url}${path}`,
        { agent: false, headers: { authorization: `Bearer ${token}`, ...forwarded } },
        (answer) => {
          answer.resume().once('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers }));
        },
      ).once('error', reject);
    });
  return { ask, served, lines };
}

const MANY = 50;
const inRow = async (count: number, ask: () => Promise<{ status: number }>) => {
  const statuses = new Set<number>();
  for (let made = 0; made < count; made += 1) statuses.add((await ask()).status);
  return [...statuses];
};

describe('requests without a good credential', () => {
  it('are refused before any other check when one address sends too many', async () => {
    const { ask, served } = await start(1);
    const refused = await waitFor(async () => {
      const answer = await ask('bad');
      return answer.status === 429 ? answer : undefined;
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    // A good token is refused too while the address is over its limit, so that refusals cost no verification.
    await waitFor(async () => {
      await ask('bad');
      const before = served.length;
      return (await ask('good')).status === 429 && served.length === before;
    });
  });

  it('do not count at public addresses', async () => {
    // A request counts until its answer has left, which may be a moment after the answer has arrived.
    const { ask } = await start(5);
    expect(await inRow(MANY, () => ask('bad', undefined, '/public'))).toEqual([200]);
  });
});

it('requests with a good credential do not count', async () => {
  const { ask } = await start(1);
  expect(await inRow(MANY, () => ask('good'))).toEqual([200]);
});

describe('requests behind a proxy', () => {
  it('that is trusted are counted by the address of each client', async () => {
    const { ask, lines } = await start(1, ['loopback']);
    await waitFor(async () => (await ask('bad', '203.0.113.1')).status === 429);
    for (let other = 2; other < MANY; other += 1) expect((await ask('bad', `203.0.113.${other}`)).status).toBe(401);
    expect(lines).toEqual([]);
  });

  it('that is trusted cannot claim another address', async () => {
    const { ask } = await start(1, ['loopback']);
    let made = 0;
    await waitFor(async () => (await ask('bad', `198.51.100.${(made += 1) % 250}, 203.0.113.1`)).status === 429);
  });

  it('that is trusted are counted together for one IPv6 network', async () => {
    const { ask } = await start(1, ['loopback']);
    let made = 0;
    await waitFor(async () => (await ask('bad', `2001:db8::${((made += 1) % 5_000).toString(16)}`)).status === 429);
    for (let other = 1; other < MANY; other += 1) expect((await ask('bad', `2001:db8:0:${other}::1`)).status).toBe(401);
  });

  it("that is not trusted are counted by the proxy's address, and the log says so once", async () => {
    const { ask, lines } = await start(1);
    let made = 0;
    await waitFor(async () => (await ask('bad', `203.0.113.${(made += 1) % 250}`)).status === 429);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('addresses.trustedProxies');
  });
});

it('an invalid network is refused', () => {
  const config = { addresses: { trustedProxies: ['everybody'] } };
  expect(() => parseConfig(config, { baseDir: '/', stateDir: '/' })).toThrow(/a network such as/);
});

describe('the limit for addresses', () => {
  it.each(['gateway', 'pdp', 'approvals', 'audit'])('applies to every port of the %s', (part) => {
    const source = readFileSync(packagePath('apps', part, 'main.ts'), 'utf8');
    expect(source).toMatch(/await listen\(app, openTo\(config, /);
  });

  it('is enforced by the gateway', async () => {
    const gateway = new GatewayUnderTest({ addresses: { maxUnknownPerSecond: 2 } });
    await gateway.start();
    try {
      const ask = (token: string) =>
        fetch(gateway.mcpUrl, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: '{}' });
      await waitFor(async () => (await ask('unknown-token')).status === 429);
      await waitFor(async () => (await ask('token-of-alice')).status !== 429);
      expect(await inRow(MANY, () => ask('token-of-alice'))).not.toContain(429);
    } finally {
      await gateway.stop();
    }
  });
});
