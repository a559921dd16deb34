import { request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { Browser } from '../../support/browser.ts';
import { chooseAtIssuer } from '../../support/signing-in.ts';

const HOST = 'approvals.example';

describe('cookies of an inbox behind https', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start({ approvals: { url: `https://${HOST}` } }));
  afterAll(() => service.stop());

  /** A request as the proxy before the inbox passes it on. */
  const handOn = (path: string, cookie = '') =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const { port } = service.config.approvals;
      const headers = { host: HOST, 'x-forwarded-proto': 'https', accept: 'text/html', cookie };
      request({ host: '127.0.0.1', port, path, headers }, (response) => resolve(response.resume()))
        .on('error', reject)
        .end();
    });
  const pairOf = (line = '') => line.split(';')[0];

  it('are bound to this host, in a sign-in under way and in a session', async () => {
    const began = await handOn('/sign-in?returnTo=/requests');
    const [attempt] = began.headers['set-cookie'] ?? [];
    const back = await chooseAtIssuer(new Browser(service.config.urls.issuer), began.headers.location ?? '', 'alice');
    const { pathname, search } = new URL(back);
    const arrived = await handOn(`${pathname}${search}`, pairOf(attempt));
    expect([arrived.statusCode, arrived.headers.location]).toEqual([303, '/requests']);
    const lines = arrived.headers['set-cookie'] ?? [];
    const session = lines.find((line) => line.startsWith('__Host-countersign_approvals='));
    expect((await handOn('/requests', pairOf(session))).statusCode).toBe(200);
    // The browsers' rules for the prefix: RFC 6265bis, section 4.1.3.2.
    for (const line of [attempt, ...lines]) {
      expect(line).toMatch(/^__Host-countersign_approvals/);
      expect(line).toMatch(/; Path=\/;/);
      expect(line).toMatch(/; Secure/);
      expect(line).toMatch(/; HttpOnly/);
      expect(line).not.toMatch(/Domain/i);
    }
  });
});
