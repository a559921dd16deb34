import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { GatewayUnderTest } from '../support/gateway.ts';
import { openUpstreams, untilFound } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

const never = () => new AbortController().signal;

let pool: UpstreamPool | undefined;
afterEach(() => pool?.close());

describe('an upstream of the present revision', () => {
  const gateway = new GatewayUnderTest({ requestTools: false, requestByItself: false });
  beforeAll(() => gateway.start());
  afterAll(() => gateway.stop());
  const connect = () =>
    (pool = openUpstreams({ up: { url: gateway.mcpUrl, headers: { authorization: 'Bearer token-of-alice' } } }));

  it('is called in its own revision, and never asked for a task', async () => {
    const upstreams = connect();
    await untilFound(upstreams, 'up__bank__transfer');
    expect((await upstreams.tools()).map(({ name }) => name)).toEqual(['up__bank__transfer', 'up__bank__anything']);
    const call = { upstream: 'up', upstreamTool: 'bank__transfer', arguments: { to: 'a', amount: 1 } };
    expect(await upstreams.call(call, { signal: never() })).toEqual({
      kind: 'result',
      isError: false,
      result: { content: [{ type: 'text', text: 'booked' }] },
    });
    gateway.world.decision = {
      kind: 'requestable',
      offer: { endpoint: 'https://ars.test/requests', expiresAt: '2126-01-01T00:00:00Z', bindingToken: 'x' },
    };
    expect(await upstreams.call(call, { signal: never() })).toMatchObject({ kind: 'result', isError: true });
    expect(gateway.world.openings).toEqual([]);
  });

  it('has its errors passed on with their data', async () => {
    const upstreams = connect();
    gateway.world.decision = { kind: 'allow' };
    const error = { kind: 'error', code: -32_603, message: 'not today', data: { until: ['monday'] } } as const;
    gateway.world.invocation = error;
    const call = { upstream: 'up', upstreamTool: 'bank__transfer', arguments: { to: 'a', amount: 1 } };
    expect(await upstreams.call(call, { signal: never() })).toEqual(error);
  });

  it('is listed again when it says that its tools changed, even if it never stops', async () => {
    const upstreams = connect();
    await untilFound(upstreams, 'up__bank__transfer');
    let changes = 0;
    upstreams.onChange((what) => void (changes += what === 'tools' ? 1 : 0));
    gateway.world.listed = gateway.world.listed.slice(0, 1);
    await waitFor(() => {
      for (const listener of gateway.world.changeListeners) listener('tools');
      return changes > 0;
    });
    expect(await upstreams.find('up__bank__transfer')).toBeDefined();
  });
});
