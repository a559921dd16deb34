import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { outboxHandlers } from '../../../apps/worker/jobs/deliver-outbox.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { AccessRequestHandle } from '../../../workflows/domain/gated-call/submission.ts';

const HANDLE: AccessRequestHandle = { accessRequestId: 'arq_1', statusEndpoint: 'http://127.0.0.1:1/s' };
const SUBMISSION = { endpoint: 'http://127.0.0.1:1/r', idempotencyKey: 'key', body: '{}' };

function handlers(
  stored: AccessRequestHandle | undefined,
  submit: () => Promise<AccessRequestHandle> = () => Promise.reject(new Error('not expected')),
  state: GatedCallState = 'pending',
) {
  const log: string[] = [];
  const alarms: (string | undefined)[] = [];
  const made = outboxHandlers({
    workflows: {
      start: async (id, pending) => {
        log.push(`start ${id} ${JSON.stringify(pending)}`);
        return 'running';
      },
      signal: async (id) => {
        log.push(`signal ${id}`);
        return 'running';
      },
      activity: async (id) => {
        log.push(`examine ${id}`);
        return id === 'stuck' ? 'stuck' : 'waiting';
      },
    },
    calls: {
      progress: async () => ({ state, generation: 2, remainingMs: 500, readAt: { databaseMs: 1_000 } }),
      load: async () => ({ handle: stored }),
      readSubmission: async () => SUBMISSION,
      isGone: async () => false,
    },
    accessRequests: {
      submit,
      read: () => Promise.reject(new Error('not expected')),
      stated: () => Promise.reject(new Error('not expected')),
      cancel: async (handle) => void log.push(`cancel ${handle.accessRequestId}`),
    },
    log: pino({}, { write: (line: string) => void alarms.push((JSON.parse(line) as { alarm?: string }).alarm) }),
  });
  return { ...made, log, alarms };
}

describe('the outbox handlers', () => {
  it('start and signal the workflow of the call that they name', async () => {
    const { start_workflow, signal_workflow, log } = handlers(HANDLE);
    await start_workflow('a');
    await signal_workflow('b');
    expect(log).toEqual(['start a {"generation":2,"deadlineMs":1500}', 'signal b']);
  });

  it('examine the workflow of a call that was signalled before, and no other', async () => {
    const { signal_workflow, log, alarms } = handlers(HANDLE);
    for (const id of ['a', 'b', 'a', 'a']) await signal_workflow(id);
    expect(log).toEqual(['signal a', 'signal b', 'examine a', 'signal a', 'examine a', 'signal a']);
    expect(alarms).toEqual([]);
  });

  it('report a workflow that cannot continue from its history', async () => {
    const { signal_workflow, alarms } = handlers(HANDLE);
    for (const id of ['stuck', 'stuck']) await signal_workflow(id);
    expect(alarms).toEqual(['workflow_stuck']);
  });

  it.each([
    ['granted', ['signal a']],
    ['claimed', ['signal a']],
    ['executed', []],
    ['denied', []],
  ] as const)('leave no workflow waiting for a call that is %s when the start comes late', async (state, done) => {
    const { start_workflow, log } = handlers(HANDLE, undefined, state);
    await start_workflow('a');
    expect(log).toEqual(done);
  });

  it('cancel the access request with a stored handle', async () => {
    const { cancel_access_request, log } = handlers(HANDLE);
    await cancel_access_request('a');
    expect(log).toEqual(['cancel arq_1']);
  });

  it('fetch a missing handle under the same key, then cancel', async () => {
    const { cancel_access_request, log } = handlers(undefined, async () => ({ ...HANDLE, accessRequestId: 'arq_2' }));
    await cancel_access_request('a');
    expect(log).toEqual(['cancel arq_2']);
  });

  it('finish when the service never had the request, and retry when it does not answer', async () => {
    const refuse = (code: 'ERR_DENIAL_EXPIRED' | 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE') => () =>
      Promise.reject(new CountersignError(code, 'no'));
    await handlers(undefined, refuse('ERR_DENIAL_EXPIRED')).cancel_access_request('a');
    await expect(
      handlers(undefined, refuse('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE')).cancel_access_request('a'),
    ).rejects.toMatchObject({ code: 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE' });
  });
});
