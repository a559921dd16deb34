import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createPollResolution } from '../../activities/read-resolution.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { AccessRequestService, ResolutionStatus } from '../../workflows/domain/ports.ts';
import { anApproval } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { systemTime } from '../support/time.ts';

const HOUR_MS = 3_600_000;

describe('a poll of an access request without a callback', () => {
  const own = ownCalls();
  /** Raised in the last poll. */
  const alarms: (string | undefined)[] = [];

  /** Polls the call while the service says this. Answers the steps that followed, in order. */
  async function polled(gatedCallId: string, says: ResolutionStatus | Error): Promise<string[]> {
    const done: string[] = [];
    alarms.length = 0;
    const accessRequests: AccessRequestService = {
      async submit({ idempotencyKey }) {
        done.push('submitted');
        return { accessRequestId: `arq_${idempotencyKey}`, statusEndpoint: 'http://127.0.0.1:1/second' };
      },
      async read() {
        if (says instanceof Error) throw says;
        return says;
      },
      stated: () => Promise.reject(new Error('not expected')),
      cancel: () => Promise.reject(new Error('not expected')),
    };
    const poll = createPollResolution({
      store: own.fixture.lifecycle,
      accessRequests,
      ensureSubmitted: createEnsureSubmitted({ ...systemTime, store: own.fixture.lifecycle, accessRequests }),
      duePolls: {
        enqueueSignal: async () => void done.push('signalled'),
        deferPoll: async (_id, ms) => void done.push(`put off for ${ms} ms`),
      },
      log: pino({}, { write: (line: string) => void alarms.push((JSON.parse(line) as { alarm: string }).alarm) }),
    });
    const before = await stateOf(gatedCallId);
    await poll(gatedCallId);
    // The workflow has to find every change for itself.
    expect(await stateOf(gatedCallId)).toBe(before);
    return done;
  }
  const stateOf = async (gatedCallId: string) => (await own.fixture.lifecycle.progress(gatedCallId)).state;

  it.each([
    ['granted', { kind: 'granted', approval: anApproval() }],
    ['denied', { kind: 'denied' }],
    ['expired', { kind: 'expired' }],
    ['cancelled', { kind: 'cancelled' }],
    ['failed', { kind: 'failed' }],
  ] as [string, ResolutionStatus][])('signals the workflow of a request that is %s', async (_, status) => {
    const { gatedCallId } = await own.fixture.pending();
    expect(await polled(gatedCallId, status)).toEqual(['signalled']);
  });

  it.each([
    ['nothing of a pending request', { kind: 'pending' }, []],
    ['nothing before the service wants to be asked', { kind: 'pending', retryAfterMs: HOUR_MS }, [HOUR_MS]],
    ['nothing when the service is away', new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'away'), []],
  ] as [string, ResolutionStatus | Error, number[]][])('makes %s', async (_, status, putOff) => {
    const { gatedCallId } = await own.fixture.pending();
    expect(await polled(gatedCallId, status)).toEqual(putOff.map((ms) => `put off for ${ms} ms`));
  });

  it('submits the request for a further approval when the process that wanted it died before', async () => {
    const { gatedCallId } = await own.fixture.granted();
    const next = { idempotencyKey: `key-${gatedCallId}`, endpoint: 'http://127.0.0.1:1/', body: '{}' };
    await own.fixture.lifecycle.requestAgain({ gatedCallId, generation: 1 }, next, 2);
    expect(await polled(gatedCallId, { kind: 'pending' })).toEqual(['submitted']);
    expect((await own.fixture.lifecycle.load(gatedCallId)).handle).toMatchObject({
      accessRequestId: `arq_key-${gatedCallId}`,
    });
  });

  it('signals the workflow of a call with a broken seal, and the workflow ends the call', async () => {
    const { gatedCallId } = await own.fixture.pending();
    await own.db.pool.query(
      `UPDATE gateway.submission SET sealed_handle = overlay(sealed_handle placing 'AAAA' from 20) WHERE gated_call_id = $1`,
      [gatedCallId],
    );
    expect(await polled(gatedCallId, { kind: 'pending' })).toEqual(['signalled']);
  });

  it('raises an alarm about a call that only a process with another key can open, and does nothing', async () => {
    const { gatedCallId } = await own.fixture.pending();
    await own.db.pool.query(`UPDATE gateway.data_key SET record_key = record_key || '-next' WHERE gated_call_id = $1`, [
      gatedCallId,
    ]);
    expect(await polled(gatedCallId, { kind: 'granted', approval: anApproval() })).toEqual([]);
    expect(alarms).toEqual(['sealing_key_missing']);
  });

  it('leaves other failures to its caller', async () => {
    const { gatedCallId } = await own.fixture.pending();
    await expect(polled(gatedCallId, new TypeError('a fault'))).rejects.toThrow('a fault');
  });
});
