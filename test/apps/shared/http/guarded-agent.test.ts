import type { lookup } from 'node:dns';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { createGuardedAgent, isPublic } from '../../../../apps/shared/http/guarded-agent.ts';
import type { HttpServer } from '../../../../apps/shared/http/listen.ts';
import { serve } from '../../../support/serve.ts';

describe('addresses', () => {
  it.each(['93.184.215.14', '8.8.8.8', '2606:2800:21f:cb07::1', '2a00:1450:4001:81d::200e'])(
    'are public: %s',
    (address) => {
      expect(isPublic(address)).toBe(true);
    },
  );
  it.each([
    ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...['169.254.169.254', '100.64.0.1', '192.0.0.8', '198.18.0.1', '203.0.113.7', '224.0.0.1', '255.255.255.255'],
    ...['::1', '::', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', 'fe80::1', 'fc00::1', 'fd12::1', 'ff02::1'],
    ...['64:ff9b::7f00:1', '2002:7f00:1::', '2001::1', '2001:db8::1', '3fff::1', 'localhost', '', '0x7f.1'],
  ])('are not public: %s [ARAP-CB-03]', (address) => {
    expect(isPublic(address)).toBe(false);
  });
});

describe('a guarded agent', () => {
  let server: HttpServer;
  let served = 0;
  beforeAll(async () => {
    server = await serve((_request, response) => {
      served += 1;
      response.writeHead(302, { location: 'http://127.0.0.2/' }).end();
    });
  });
  afterAll(() => server.close());

  it.each([
    ...[
      'http://127.0.0.1/',
      'http://0x7f.1/',
      'http://127.1/',
      'http://2130706433/',
      'http://0177.0.0.1/',
      'http://0/',
    ],
    ...[
      'http://[::1]/',
      'http://[::ffff:127.0.0.1]/',
      'http://[::ffff:7f00:1]/',
      'https://169.254.169.254/latest/meta-data',
    ],
    ...['http://good.example@10.0.0.1/', 'http://①②⑦.0.0.1/', 'http://127.0.0.1./'],
  ])('refuses an address of %s before it connects [ARAP-CB-03]', (url) => {
    expect(() => createGuardedAgent([], { advice: 'add its network' }).check(url)).toThrow('is not a public address');
  });

  /** A resolver that an attacker controls: returns these addresses, one after the other. */
  const resolving = (...answers: string[]) =>
    ((
      _name: string,
      _options: object,
      callback: (error: null, found: { address: string; family: number }[]) => void,
    ) => {
      const address = answers.shift() ?? '';
      callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
    }) as unknown as typeof lookup;
  const post = async ({ agent }: ReturnType<typeof createGuardedAgent>) => {
    const { port } = new URL(server.url);
    const answer = await request(`http://rebinding.test:${port}/`, {
      method: 'POST',
      dispatcher: agent,
      headers: { connection: 'close' },
    });
    await answer.body.dump();
    return answer.statusCode;
  };

  it.each(['127.0.0.1', '10.0.0.1', '::1', '::ffff:127.0.0.1'])(
    'refuses a name that resolves to %s when it connects [ARAP-CB-03]',
    async (address) => {
      const before = served;
      await expect(
        post(createGuardedAgent([], { advice: 'add its network', lookup: resolving(address) })),
      ).rejects.toThrow('is not a public address');
      expect(served).toBe(before);
    },
  );

  it('checks each address anew, and follows no redirect [ARAP-CB-03]', async () => {
    const guard = createGuardedAgent(['127.0.0.1/32'], {
      advice: 'add its network',
      lookup: resolving('127.0.0.1', '127.0.0.2'),
    });
    const before = served;
    expect(await post(guard)).toBe(302);
    await expect(post(guard)).rejects.toThrow('is not a public address');
    expect(served).toBe(before + 1);
  });

  it('connects to a configured private network, and to no other one', async () => {
    const guard = createGuardedAgent(['10.0.0.0/8', 'fd00::/8'], { advice: 'add its network' });
    for (const url of ['http://10.9.8.7/', 'http://[fd00::1]/']) expect(() => guard.check(url)).not.toThrow();
    expect(() => guard.check('http://192.168.0.1/')).toThrow('is not a public address; add its network');
  });
});
