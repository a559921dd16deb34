import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCredential, sendHttp } from '../../activities/clients/http.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { systemTime } from '../support/time.ts';

const tls = (name: string) => packagePath('test', 'fixtures', 'tls', name);
const read = (name: string) => readFileSync(tls(name), 'utf8');
const PATIENCE_MS = 60_000;
const CERTIFICATE = { certificate: tls('client.pem'), key: tls('client.key'), ca: tls('ca.pem') };

describe('the credential of a client', () => {
  it('is a bearer token, or the token alone in a header of its own [AZ-SE-02]', () => {
    const of = (credentialHeader: string) => createCredential('the-token', { credentialHeader }).headers;
    expect(of('authorization')).toEqual({ authorization: 'Bearer the-token' });
    expect(of('Authorization')).toEqual({ Authorization: 'Bearer the-token' });
    expect(of('X-Api-Key')).toEqual({ 'X-Api-Key': 'the-token' });
  });

  it('with a missing certificate file stops the startup, and the error names the file', () => {
    const clientCertificate = { ...CERTIFICATE, key: '/nowhere/client.key' };
    expect(() => createCredential('t', { credentialHeader: 'authorization', clientCertificate })).toThrow(
      expect.objectContaining({ code: 'ERR_CONFIG_INVALID', message: expect.stringContaining('/nowhere/client.key') }),
    );
  });
});

describe('a service that requires a client certificate', () => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    const options = { key: read('server.key'), cert: read('server.pem'), ca: read('ca.pem'), requestCert: true };
    server = createServer({ ...options, rejectUnauthorized: true }, (_request, response) => response.end('hello'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const ask = (clientCertificate: typeof CERTIFICATE | Omit<typeof CERTIFICATE, 'ca'>) => {
    const { headers, via } = createCredential('t', { credentialHeader: 'authorization', clientCertificate });
    return sendHttp(url, { ...systemTime, method: 'GET', headers: { ...headers }, timeoutMs: PATIENCE_MS, via });
  };

  it('accepts clients with a certificate, and refuses others [AZ-SE-01, AZ-SE-02]', async () => {
    expect((await ask(CERTIFICATE)).text).toBe('hello');
    await expect(
      sendHttp(url, { ...systemTime, method: 'GET', headers: {}, timeoutMs: PATIENCE_MS }),
    ).rejects.toThrow();
  });

  it('gets no request when its own certificate has an unknown issuer [AZ-SE-01]', async () => {
    const { ca: _ca, ...withoutAuthority } = CERTIFICATE;
    await expect(ask(withoutAuthority)).rejects.toThrow();
  });
});
