import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { startPdp } from '../../apps/pdp/main.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { type HttpServer, listen } from '../../apps/shared/http/listen.ts';
import { hostsOf } from '../../apps/shared/http/known-hosts.ts';
import { Workplace } from '../support/offboarding.ts';
import { DEFAULT_POLICIES } from '../support/pdp.ts';
import { systemTime } from '../support/time.ts';

/** The status from a server on this machine for a request with this host. */
const ask = (url: string, host: string, path = '/requests') =>
  new Promise<number | undefined>((resolve, reject) => {
    const { port } = new URL(url);
    const sent = request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject).end();
  });

const FOREIGN = [
  'evil.example',
  'evil.example:80',
  '127.0.0.1.evil.example',
  '10.0.0.7',
  'a b',
  '127.0.0.1@evil.example',
  'evil.example@127.0.0.1',
  '127.0.0.1/evil.example',
  '127.0.0.1?evil.example',
  '127.0.0.1#evil.example',
];
const PROBES = ['/livez', '/readyz', '/healthz'];

describe('a request that names another host', () => {
  const workplace = new Workplace();
  beforeAll(() => workplace.start([{ name: 'alice', roles: ['approver'] }], {}));
  afterAll(() => workplace.stop());

  it.each(['approvals', 'audit', 'issuer'] as const)('is refused by %s before any other check', async (name) => {
    const url = workplace.service.config.urls[name];
    for (const host of FOREIGN) expect([host, await ask(url, host)]).toEqual([host, 421]);
    for (const host of [new URL(url).host, 'localhost', 'LOCALHOST:1', '[::1]:4102']) {
      expect([host, await ask(url, host)]).not.toEqual([host, 421]);
    }
    // The development issuer has no orchestrator.
    if (name === 'issuer') return;
    for (const probe of PROBES) expect([probe, await ask(url, '10.0.0.7:80', probe)]).toEqual([probe, 200]);
  });

  it('is refused by the policy decision point', async () => {
    const log = pino({ level: 'silent' });
    const { config, secrets, database } = workplace.service;
    // A real decision point runs here, because the workplace has only a stub.
    const port = await freePort();
    const own = { ...config, pdp: { ...config.pdp, port, policies: DEFAULT_POLICIES } };
    const pdp = await startPdp(own, secrets, { ...systemTime, log, databaseUrl: database.url });
    const url = `http://127.0.0.1:${port}`;
    const found = await Promise.all(FOREIGN.map((host) => ask(url, host, '/.well-known/authzen-configuration')));
    const answered = await ask(url, new URL(url).host, '/.well-known/authzen-configuration');
    const probed = await Promise.all(PROBES.map((probe) => ask(url, '10.0.0.7:80', probe)));
    await pdp.stop();
    expect(found).toEqual(FOREIGN.map(() => 421));
    expect([answered, ...probed]).toEqual([200, 200, 200, 200]);
  });
});

describe('a server', () => {
  it('answers only for its own addresses when none is a loopback address', async () => {
    const server: HttpServer = await listen((_request, response) => void response.writeHead(200).end(), {
      ...systemTime,
      host: '0.0.0.0',
      port: 0,
      urls: ['https://approvals.example/inbox', 'http://approvals:4102'],
    });
    const answers = ['approvals.example', 'approvals:4102', '0.0.0.0', '127.0.0.1', 'localhost', 'evil.example'].map(
      (host) => ask(server.url, host),
    );
    expect(await Promise.all(answers)).toEqual([200, 200, 200, 421, 421, 421]);
    await server.close();
  });

  it.each([
    ['127.0.0.1', 'https://a.example', ['a.example', '127.0.0.1', 'localhost', '[::1]']],
    ['::', 'https://a.example', ['a.example', '[::]']],
    ['0.0.0.0', 'http://localhost:1', ['localhost', '0.0.0.0', '127.0.0.1', '[::1]']],
  ])('that listens on %s and is reached at %s has these names', (host, url, names) => {
    expect([...hostsOf(host, [url])].sort()).toEqual([...names].sort());
  });
});
