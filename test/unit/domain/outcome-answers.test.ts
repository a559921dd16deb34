import { describe, expect, it } from '@jest/globals';
import { answersOf } from '../../../workflows/domain/gated-call/outcome-answers.ts';
import {
  TERMINAL_STATES,
  type Evidence,
  type OutcomeRecord,
  type RecordedTransition,
  type TerminalState,
} from '../../../workflows/domain/gated-call/outcome-record.ts';

const at = (second: number) => `2026-11-21T10:00:${String(second).padStart(2, '0')}.000000Z`;

function transitions(...states: RecordedTransition['to'][]): RecordedTransition[] {
  return states.map((to, i) => ({ seq: i + 1, to, cause: 'test', at: at(i) }));
}

const EXECUTION_PATH = ['preparing', 'pending', 'granted', 'claimed'] as const;

function aRecord(state: TerminalState, changes: Partial<OutcomeRecord> = {}): OutcomeRecord {
  const claimed = ['executed', 'execution_error', 'outcome_unknown'].includes(state);
  return {
    outcomeRef: 'out_1',
    taskId: 'tsk_1',
    state,
    recordedAt: at(9),
    tool: 'files__write',
    callDigest: 'sha-256:aa',
    toolDigest: 'sha-256:bb',
    requester: { issuer: 'https://idp.example', subject: 'agent' },
    createdAt: at(0),
    generation: 1,
    requestDeadline: at(59),
    decisions: [
      { id: 'd1', generation: 1, kind: 'requestable', evaluatedAt: at(0) },
      ...(claimed ? [{ id: 'd2', generation: 1, kind: 'allow', evaluatedAt: at(2) } as const] : []),
    ],
    accessRequests: [
      { generation: 1, accessRequestId: 'ar1', ...(claimed && { approvalId: 'ap1', approvedAt: at(1) }) },
    ],
    ...(claimed && {
      claim: { claimedAt: at(3), decisionId: 'd2', generation: 1 },
      invocation: { beganAt: at(4) },
    }),
    ...(state === 'executed' && { result: { isError: false, digest: 'sha-256:cc' } }),
    ...(state === 'execution_error' && { result: { isError: true, digest: 'sha-256:cc' } }),
    transitions: transitions(...(claimed ? EXECUTION_PATH : (['preparing', 'pending'] as const)), state),
    ...changes,
  };
}

function evidenceFor(record: OutcomeRecord, changes: Partial<Evidence> = {}): Evidence {
  return {
    sealIntact: true,
    indexMatches: true,
    claimCount: record.claim ? 1 : 0,
    invocationCount: record.invocation ? 1 : 0,
    transitions: record.transitions,
    bindingMatches: true,
    siblings: [],
    ...changes,
  };
}

const answersFor = (record: OutcomeRecord, changes: Partial<Evidence> = {}) =>
  answersOf(record, evidenceFor(record, changes));

describe('answersOf', () => {
  const expected = {
    executed: ['yes', 'The tool ran once.', 'approval'],
    execution_error: ['yes', 'The tool ran once, and its result is an error.', 'approval'],
    outcome_unknown: ['unknown', 'The tool may have run.', 'approval'],
    denied: ['no', 'The tool did not run.', 'denial'],
    cancelled: ['no', 'The tool did not run.', 'cancellation'],
    failed: ['no', 'The tool did not run.', 'failure'],
  } as const satisfies Record<TerminalState, readonly [string, string, string]>;

  it.each(TERMINAL_STATES)('answers all four questions for a call that ended as %s', (state) => {
    const answers = answersFor(aRecord(state));
    const [didRun, headline, verdict] = expected[state];
    expect(answers.didRun.answer).toBe(didRun);
    expect(answers.headline).toBe(headline);
    expect(answers.terminalBeforeExecution).toMatchObject({ verdict, wasDecidedBeforeExecution: true });
    expect(answers.couldRunTwice.answer).toBe('no');
    expect(answers.call).toMatchObject({ tool: 'files__write', callDigest: 'sha-256:aa' });
    expect(answers.contradictions).toEqual([]);
  });

  it.each([
    ['a permit that was never given', { invocation: undefined }],
    ['a permit without a sent call', { invocation: { beganAt: at(4), notSentAt: at(5) } }],
  ])('says that the tool did not run when the claim ended with %s', (_, changes) => {
    const { result: _result, invocation: _invocation, ...claimed } = aRecord('execution_error', { reason: 'not_sent' });
    const record = { ...claimed, ...(changes.invocation && { invocation: changes.invocation }) };
    const answers = answersFor(record);
    expect(answers.contradictions).toEqual([]);
    expect(answers.didRun.answer).toBe('no');
  });

  it.each(['request_expired', 'approval_expired'] as const)('calls a denial by %s an expiry', (reason) => {
    expect(answersFor(aRecord('denied', { reason })).terminalBeforeExecution.verdict).toBe('expiry');
  });

  it.each([
    ['no approval', { accessRequests: [{ generation: 1, accessRequestId: 'ar1' }] }],
    ['an approval of another generation only', { accessRequests: [{ generation: 2, approvalId: 'ap2' }] }],
    ['no policy decision that allows', { decisions: [{ id: 'd2', generation: 1, kind: 'deny', evaluatedAt: at(2) }] }],
    [
      'a policy decision after the claim',
      { decisions: [{ id: 'd2', generation: 1, kind: 'allow', evaluatedAt: at(4) }] },
    ],
    ['a sending before the claim', { invocation: { beganAt: at(2) } }],
    [
      'no grant before the claim',
      { transitions: transitions('preparing', 'pending', 'claimed', 'granted', 'executed') },
    ],
  ] as [string, Partial<OutcomeRecord>][])('does not confirm the order when there is %s', (_, changes) => {
    const answers = answersFor(aRecord('executed', changes));
    expect(answers.terminalBeforeExecution.wasDecidedBeforeExecution).toBe(false);
  });

  it.each([
    ['the seal is broken', { sealIntact: false }],
    ['the searched columns differ', { indexMatches: false }],
    ['the call is bound to something else', { bindingMatches: false }],
    ['a second claim turns up', { claimCount: 2 }],
    ['the permit is gone', { invocationCount: 0 }],
    ['a transition is gone', { transitions: transitions('preparing', 'pending') }],
  ] as [string, Partial<Evidence>][])('proves nothing when %s', (_, changes) => {
    const answers = answersFor(aRecord('executed'), changes);
    expect(answers.contradictions).toHaveLength(1);
    expect(answers.didRun.answer).toBe('unknown');
    expect(answers.headline).toBe('The tool may have run.');
    expect(answers.couldRunTwice.answer).toBe('unknown');
  });

  it.each([
    ['executed', { result: undefined }],
    ['denied', { claim: { claimedAt: at(3), decisionId: 'd2', generation: 1 } }],
    ['cancelled', { invocation: { beganAt: at(3) } }],
    ['outcome_unknown', { result: { isError: false, digest: 'x' } }],
    ['executed', { transitions: transitions(...EXECUTION_PATH) }],
    ['failed', { transitions: [...transitions('preparing', 'pending', 'failed')].map((one) => ({ ...one, seq: 1 })) }],
  ] as [TerminalState, Partial<OutcomeRecord>][])(
    'notices a record of %s that contradicts itself: %j',
    (state, changes) => {
      const answers = answersFor(aRecord(state, changes));
      expect(answers.contradictions).not.toEqual([]);
      expect(answers.didRun.answer).toBe('unknown');
    },
  );

  it('names the other calls with the same digest and how many of them reached execution', () => {
    const { couldRunTwice } = answersFor(aRecord('executed'), {
      siblings: [
        { taskId: 'tsk_2', state: 'executed', outcomeRef: 'out_2' },
        { taskId: 'tsk_3', state: 'pending' },
      ],
    });
    expect(couldRunTwice.siblings).toHaveLength(2);
    expect(couldRunTwice.why).toContain('2 other gated calls have the same tool and arguments');
    expect(couldRunTwice.why).toContain('1 of them reached execution');
  });
});
