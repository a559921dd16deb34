import { describe, expect, it } from '@jest/globals';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { AccessRequestHandle } from '../../workflows/domain/gated-call/submission.ts';
import { repeated } from '../support/lives.ts';
import { ownCalls } from '../support/own-calls.ts';
import { systemTime } from '../support/time.ts';

describe('submitting an access request', () => {
  const own = ownCalls();

  /** A service that remembers keys, and fails this many times before it answers. */
  function service(failures: CountersignError[] = []) {
    const requests = new Map<string, AccessRequestHandle>();
    let posts = 0;
    const submit = async ({ idempotencyKey }: { idempotencyKey: string }) => {
      posts += 1;
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const known = requests.get(idempotencyKey);
      if (known !== undefined) return known;
      const handle = { accessRequestId: `arq_${idempotencyKey}`, statusEndpoint: 'http://127.0.0.1:1/s' };
      requests.set(idempotencyKey, handle);
      return handle;
    };
    return { submit, requests, posts: () => posts };
  }
  const away = () => new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'away');
  const stateOf = async (id: string) => (await own.fixture.lifecycle.load(id)).state;

  it('opens one access request for 20 callers who join', async () => {
    const arq = service();
    const ensureSubmitted = createEnsureSubmitted({ ...systemTime, store: own.fixture.lifecycle, accessRequests: arq });
    const opened = await own.fixture.opened();
    const { gatedCallId } = opened;
    // A caller that is told to repeat the call does so: a machine may stand still for longer than callers wait for each
    // other.
    const joined = Array.from({ length: 19 }, () => repeated(() => ensureSubmitted({ gatedCallId })));
    await Promise.all([...joined, ensureSubmitted(opened)]);
    expect(arq.posts()).toBe(1);
    expect(await stateOf(gatedCallId)).toBe('pending');
  });

  it('stays open for a retry under the same key when the service is away', async () => {
    const arq = service([away()]);
    const ensureSubmitted = createEnsureSubmitted({ ...systemTime, store: own.fixture.lifecycle, accessRequests: arq });
    const opened = await own.fixture.opened();
    const { gatedCallId } = opened;
    await expect(ensureSubmitted(opened)).rejects.toMatchObject({
      code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE',
    });
    expect(await stateOf(gatedCallId)).toBe('preparing');
    await ensureSubmitted(opened);
    expect(arq.requests.size).toBe(1);
    expect(await stateOf(gatedCallId)).toBe('pending');
  });

  it('fails the call when the service refuses it for good', async () => {
    const arq = service([new CountersignError('ERR_DENIAL_BINDING_INVALID', 'no')]);
    const ensureSubmitted = createEnsureSubmitted({ ...systemTime, store: own.fixture.lifecycle, accessRequests: arq });
    const opened = await own.fixture.opened();
    const { gatedCallId } = opened;
    await expect(ensureSubmitted(opened)).rejects.toMatchObject({ code: 'ERR_NOT_REQUESTABLE' });
    expect(await stateOf(gatedCallId)).toBe('failed');
  });

  it('distinguishes a denial that is too old from a call that was given up meanwhile', async () => {
    const late = service([new CountersignError('ERR_DENIAL_EXPIRED', 'late')]);
    const ensureSubmitted = createEnsureSubmitted({
      ...systemTime,
      store: own.fixture.lifecycle,
      accessRequests: late,
    });
    const first = await own.fixture.opened();
    await expect(ensureSubmitted(first)).rejects.toMatchObject({ code: 'ERR_DENIAL_EXPIRED' });
    expect(await stateOf(first.gatedCallId)).toBe('failed');
    const second = await own.fixture.opened();
    await own.fixture.lifecycle.releaseSubmission(second.gatedCallId);
    await own.fixture.lifecycle.end(second.gatedCallId, 'cancelled', 'abandoned', 'sweeper');
    await expect(ensureSubmitted({ gatedCallId: second.gatedCallId })).rejects.toMatchObject({
      code: 'ERR_DENIAL_EXPIRED',
    });
  });

  it('fails closed when the service gives another handle for the same key', async () => {
    const opened = await own.fixture.opened();
    const { gatedCallId } = opened;
    const handle = (accessRequestId: string) => ({ accessRequestId, statusEndpoint: 'http://127.0.0.1:1/s' });
    const twoFaced = createEnsureSubmitted({
      ...systemTime,
      store: { ...own.fixture.lifecycle, attachHandle: async () => ({ outcome: 'conflict' }) },
      accessRequests: { submit: async () => handle('arq_b') },
    });
    await expect(twoFaced(opened)).rejects.toMatchObject({ code: 'ERR_NOT_REQUESTABLE' });
    expect(await stateOf(gatedCallId)).toBe('failed');
  });
});
