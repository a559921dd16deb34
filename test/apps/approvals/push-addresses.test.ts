import type { lookup } from 'node:dns';
import { beforeEach, describe, expect, it } from '@jest/globals';
import webPush from 'web-push';
import type { Message } from '../../../apps/approvals/channels/message.ts';
import { openPush } from '../../../apps/approvals/channels/push.ts';
import { PushService } from '../../support/push-service.ts';
import { systemTime } from '../../support/time.ts';

const { publicKey, privateKey } = webPush.generateVAPIDKeys();
const SUBJECT = 'mailto:approvals@example.com';
const MESSAGE: Message = {
  ...{ requestId: 'arq_1', kind: 'ask', key: 'ask 1', sentence: 'Write', link: 'https://inbox.example/', facts: [] },
};

describe('the address of a push service', () => {
  const settings = { subject: SUBJECT, privateKey, networks: [], afterSeconds: 0 };
  const { endpoint: _endpoint, keys } = new PushService().browser().subscription;
  /** What was noted about the reach of the browser. */
  const noted: boolean[] = [];
  const rows = (endpoint: string) => ({
    of: async () => [{ id: '1', endpoint, person: 'alice', ...keys }],
    subscribe: async () => undefined,
    noteReach: async (_browser: object, isReached: boolean) => noted.push(isReached) > 0,
    unsubscribe: async () => undefined,
  });

  const PUBLIC = '93.184.215.14';
  const ENDPOINT = 'https://push.example:1/send/1';
  const to = { person: 'alice', name: 'Alice' };
  /** A push channel whose names lead to these addresses, one list after the other. None: the name does not exist. */
  const opened = (answers: string[][], subscriptions = rows(ENDPOINT)) => {
    const resolve = (_name: string, _options: object, found: (...results: unknown[]) => void) => {
      const addresses = answers.shift() ?? [];
      const error = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND', syscall: 'getaddrinfo' });
      if (addresses.length === 0) return found(error, []);
      found(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    };
    return openPush(settings, { subscriptions, lookup: resolve as unknown as typeof lookup, ...systemTime });
  };
  beforeEach(() => void noted.splice(0));

  it.each([
    ['the public internet', [PUBLIC], true],
    ['the public internet among others', ['10.0.0.1', PUBLIC], true],
    ['nowhere', [], false],
    ['this machine', ['127.0.0.1'], false],
    ['this machine by IPv6', ['::1'], false],
    ['this machine by an address of IPv4 within IPv6', ['::ffff:127.0.0.1'], false],
    ['a private network', ['192.168.1.20', 'fd12::1'], false],
    ['the metadata of a cloud', ['169.254.169.254'], false],
  ])('decides by where the name of a push service leads: %s', async (_where, addresses, isAccepted) => {
    const push = await opened([addresses]);
    expect(await push.accepts({ endpoint: ENDPOINT, ...keys })).toBe(isAccepted);
    push.channel.close?.();
  });

  it.each(['https://localhost/send/1', 'https://LOCALHOST:8443/send/1', 'https://nowhere.invalid/send/1'])(
    'takes no browser with the address %s',
    async (endpoint) => {
      const push = await openPush(settings, { subscriptions: rows(endpoint), ...systemTime });
      expect(await push.accepts({ endpoint, ...keys })).toBe(false);
      push.channel.close?.();
    },
  );

  it.each([
    ['this machine', ['127.0.0.1'], /push.example:1 did not answer .*is not a public address/],
    ['nowhere', [], /push.example:1 did not answer .*ENOTFOUND/],
  ])('connects to nothing when the name leads to %s later, and notes it', async (_where, later, why) => {
    const push = await opened([[PUBLIC], later]);
    expect(await push.accepts({ endpoint: ENDPOINT, ...keys })).toBe(true);
    await expect(push.channel.send(MESSAGE, to)).rejects.toThrow(why);
    expect(noted).toEqual([false]);
    push.channel.close?.();
  });

  it('names a failing service once for all its browsers, and each other one', async () => {
    const browsers = ['https://one.example/1', 'https://one.example/2', 'https://two.example/1'].map((endpoint) => ({
      ...{ id: endpoint, endpoint, person: 'alice', ...keys },
    }));
    const push = await opened([], { ...rows(ENDPOINT), of: async () => browsers });
    const failure = await push.channel.send(MESSAGE, to).catch((error: unknown) => error);
    expect(failure).toMatchObject({ services: ['one.example', 'two.example'] });
    push.channel.close?.();
  });

  it('refuses a private key that is none', async () => {
    const refused = openPush({ ...settings, privateKey: publicKey }, { subscriptions: rows(''), ...systemTime });
    await expect(refused).rejects.toThrow(/approvals.channels.push.privateKey is not a private key/);
  });
});
