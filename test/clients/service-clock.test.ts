import { describe, expect, it } from '@jest/globals';
import { readServiceClock } from '../../activities/clients/authority.ts';
import { serve } from '../support/serve.ts';
import { patiently } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

describe('the clock of a service', () => {
  const toldOnce = async (headers: Record<string, string>, sendDate: boolean) => {
    const asked: unknown[] = [];
    const server = await serve((request, response) => {
      asked.push([request.method, request.url, request.headers.authorization]);
      response.sendDate = sendDate;
      response.writeHead(404, headers).end();
    });
    try {
      return { at: await readServiceClock(server.url, systemTime.clock), asked };
    } finally {
      await server.close();
    }
  };
  /** A clock without an answer within a second is read again. */
  const told = (...says: Parameters<typeof toldOnce>) => patiently(() => toldOnce(...says));

  it('is read from any answer, without a credential', async () => {
    const { at, asked } = await told({ date: 'Sun, 06 Nov 1994 08:49:37 GMT' }, false);
    expect(at).toBe(Date.parse('1994-11-06T08:49:37.500Z'));
    expect(asked).toEqual([['GET', '/healthz', undefined]]);
  });

  it('is close to ours when it is on this machine', async () => {
    const before = Date.now();
    const { at } = await told({}, true);
    expect(at).toBeGreaterThan(before - 3_000);
    expect(at).toBeLessThan(Date.now() + 3_000);
  });

  it.each([
    ['none', {}],
    ['an invalid one', { date: 'yesterday' }],
  ] as [string, Record<string, string>][])('is unknown when the answer has a date of %s', async (_, headers) => {
    expect((await told(headers, false)).at).toBeUndefined();
  });

  it('is unknown, with an error, without an answer', async () => {
    await expect(readServiceClock('http://127.0.0.1:1', systemTime.clock)).rejects.toThrow();
  });
});
