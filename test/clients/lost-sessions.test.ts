import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { startListingUpstream } from '../support/listing-upstream.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { PATIENT_LIMITS } from '../support/time.ts';
import { openUpstreams } from '../support/upstreams.ts';

let upstream: Awaited<ReturnType<typeof startListingUpstream>>;
let pool: UpstreamPool;
beforeEach(async () => {
  upstream = await startListingUpstream({ tools: [{ name: 'one', inputSchema: { type: 'object' } }] });
  upstream.sessions = { known: new Set(), status: 404 };
  // The clock stands still, so no connection is idle for long enough to be checked before a call.
  pool = openUpstreams(
    { u: { url: upstream.url } },
    undefined,
    {},
    { clock: new ManualClock(), limits: PATIENT_LIMITS },
  );
});
afterEach(async () => {
  await pool.close();
  await upstream.close();
});

const call = async () => {
  const tool = await pool.find('u__one');
  const bound = { upstream: 'u', upstreamTool: 'one', arguments: {}, ...(tool && { toolDigest: tool.digest }) };
  return pool.call(bound, { signal: new AbortController().signal });
};

describe('a call of a server that lost its session', () => {
  it.each([404, 400, 410])('is sent once more in a new one, after a refusal with %d', async (status) => {
    expect(await call()).toMatchObject({ kind: 'result' });
    upstream.sessions = { known: new Set(), status };
    expect(await call()).toMatchObject({ kind: 'result' });
    expect(upstream.called).toEqual(['one', 'one']);
  });

  it.each([401, 403, 500])('is not sent again after %d, which may mean anything', async (status) => {
    await call();
    upstream.sessions = { known: new Set(), status };
    expect(['error', 'no_answer']).toContain((await call()).kind);
    expect(upstream.called).toEqual(['one']);
  });

  it('is not sent again while the session is there: the refusal is about the call', async () => {
    upstream.sessions = { known: new Set(), status: 404, refusesCalls: true };
    expect(await call()).toMatchObject({
      kind: 'error',
      message: expect.stringContaining('refused the call (HTTP 404)'),
    });
    expect(upstream.sessions.known.size).toBe(1);
  });

  it('is sent no third time by a server that knows no session', async () => {
    await call();
    const known = new Set<string>();
    known.add = () => known;
    upstream.sessions = { known, status: 404 };
    expect((await call()).kind).not.toBe('result');
    expect(upstream.called).toEqual(['one']);
  });
});
