import { describe, expect, it } from '@jest/globals';
import { parseConfig } from '../../../../../apps/shared/config/config.ts';

const parse = (raw: object) => parseConfig(raw, { baseDir: '/etc/countersign', stateDir: '/nowhere' });
const OTHER = { url: 'https://cerbos.test' };

describe('the address of the authority side', () => {
  it.each(['http://pdp.test', 'http://10.0.0.1:4101', 'http://localhost.evil.test', 'ftp://pdp.test'])(
    'is not %s, unless the configuration allows it by name [PRJ-25, AZ-SE-01]',
    (url) => {
      expect(() => parse({ pdp: { url } })).toThrow(/https/);
      expect(() => parse({ accessRequests: { url } })).toThrow(/https/);
      expect(() => parse({ pdp: { engine: { authzen: { url } } } })).toThrow(/https/);
      expect(parse({ pdp: { url, allowHttp: true } }).authority.pdp.url).toBe(url);
    },
  );

  it.each(['https://pdp.test', 'https://pdp.test/', 'http://127.0.0.1:4101', 'http://[::1]:1/t1'])(
    'may be %s, and is kept unchanged [PRJ-25, AZ-MD-06]',
    (url) => {
      expect(parse({ pdp: { url } })).toMatchObject({ urls: { pdp: url }, authority: { pdp: { url } } });
    },
  );

  it('trusts the configured origins, and learns from a foreign PDP where requests go', () => {
    const pdp = { url: 'https://pdp.test', trustedOrigins: ['https://decisions.test'] };
    const { authority } = parse({ pdp, accessRequests: { trustedOrigins: ['https://ars.test'] } });
    expect(authority.pdp.trusted).toEqual(['https://pdp.test', 'https://decisions.test']);
    expect(authority.accessRequests.trusted).toEqual(expect.arrayContaining(['https://pdp.test', 'https://ars.test']));
    expect(authority.accessRequests.trusted).not.toContain('https://decisions.test');
    expect(authority.accessRequests.url).toBeUndefined();
    expect(parse({}).authority.accessRequests.url).toBe('http://127.0.0.1:4102/access/v1/requests');
    const named = { pdp: { url: 'https://pdp.test' }, accessRequests: { url: 'https://ars.test/r' } };
    expect(parse(named).authority.accessRequests.url).toBe('https://ars.test/r');
    expect(parse(named).authority.accessRequests.trusted).toEqual(['https://ars.test/r']);
  });

  it('finds certificates beside the configuration', () => {
    const clientCertificate = { certificate: 'a.pem', key: '/k.pem' };
    const { authority, pdp } = parse({
      pdp: { clientCertificate, engine: { authzen: { ...OTHER, clientCertificate } } },
    });
    const found = { certificate: '/etc/countersign/a.pem', key: '/k.pem' };
    expect(authority.pdp.credential.clientCertificate).toEqual(found);
    expect(pdp.engine?.authzen.clientCertificate).toEqual(found);
  });

  it.each([[{ template: 't' }], [{ template: 't', reason: 'r', output: 1 }], [{ reason: 'r' }]])(
    'does not accept a hint like %j',
    (hint) => {
      expect(() => parse({ pdp: { engine: { authzen: { ...OTHER, requestable: [hint] } } } })).toThrow();
    },
  );
});
