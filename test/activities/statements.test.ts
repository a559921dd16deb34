import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { RecordedStatement } from '../../workflows/domain/access-request/statement.ts';
import type { ResolutionStatus } from '../../workflows/domain/ports.ts';
import { startAuditApp, type AuditUnderTest } from '../apps/audit/audit-app.ts';
import { anApproval } from '../support/gated-calls.ts';
import { stepsIn, type World } from '../support/steps.ts';

let audit: AuditUnderTest;
beforeAll(async () => void (audit = await startAuditApp()));
afterAll(() => audit.stop());

const AT = '2026-11-21T10:00:00.000Z';
const approve = (subject: string, more: object = {}) =>
  ({ approver: { subject }, verdict: 'approve', at: AT, ...more }) as const;
const stated = (more: Partial<Extract<RecordedStatement, { kind: 'stated' }>> = {}): RecordedStatement => ({
  ...{ kind: 'stated', status: 'approved', votes: [approve('alice')], ...more },
});

/** Drives a waiting call to its end in this world, and answers its record. */
async function driven(world: World, before: (gatedCallId: string) => Promise<unknown> = async () => undefined) {
  const { pending, lifecycle } = audit.calls.fixture;
  const { gatedCallId, taskId } = await pending();
  await before(gatedCallId);
  const steps = stepsIn({ status: { kind: 'granted', approval: anApproval() }, ...world }, lifecycle);
  for (let turn = 0; turn < 3; turn += 1) {
    const found = await steps.toTheClaim({ gatedCallId }).catch((error: unknown) => {
      if (!(error instanceof CountersignError && error.retryable)) throw error;
      return undefined;
    });
    if (found?.kind !== 'claimed') continue;
    await steps.invokeTool({ gatedCallId });
    break;
  }
  return (await audit.json(`/outcome-records/by-task/${taskId}`)).body;
}

describe('the statement of an access request service', () => {
  it('is recorded with the call, sealed', async () => {
    const body = await driven({ statement: stated({ template: 'canary-template', votes: [approve('canary-alice')] }) });
    expect(body.record.accessRequests).toMatchObject([{ statement: { template: 'canary-template' } }]);
    expect(body.answers.whoDecided).toMatchObject({ by: 'approvers', people: [{ subject: 'canary-alice' }] });
    expect(body.seal.text).not.toContain('canary');
  });

  it.each<[string, World['statement'], string]>([
    ['cannot be read', { kind: 'unreadable' }, 'unreadable'],
    ['is nothing', undefined, 'not_stated'],
  ])('never keeps a call from running: a statement that %s is recorded as such', async (_case, statement, by) => {
    const lines: Record<string, unknown>[] = [];
    const body = await driven({ ...(statement && { statement }), lines });
    expect([body.state, body.answers.whoDecided.by]).toEqual(['executed', by]);
    expect(lines.some(({ alarm }) => alarm === 'statement_unreadable')).toBe(by === 'unreadable');
    const page = await audit.get(`/outcome-records/${body.outcomeRef}`, { accept: 'text/html' });
    expect(page.text).toContain(
      by === 'unreadable' ? 'its statement could not be read' : 'It is not known who resolved it',
    );
  });

  it.each<[string, readonly unknown[], string]>([
    ['no approver spoke', [], 'request_expired'],
    ['an approver only approved it', [approve('alice')], 'request_expired'],
    ['an approver denied it', [{ ...approve('alice'), verdict: 'deny' }], 'resolution_denied'],
  ])('tells a denial by a person from the end of a stage: %s', async (_case, votes, reason) => {
    const statement = stated({ status: 'denied', votes: votes as never });
    const body = await driven({ status: { kind: 'denied' }, statement });
    expect([body.state, body.record.reason]).toEqual(['denied', reason]);
    expect(body.answers.whoDecided.by).toBe(reason === 'request_expired' ? 'time' : 'approvers');
  });

  it('stays as it was first stated, even if the service says something else later or the step is repeated', async () => {
    const { lifecycle } = audit.calls.fixture;
    const body = await driven({ statement: stated({ votes: [approve('mallory')] }) }, (id) =>
      lifecycle.keepStatement(id, 1, stated()),
    );
    expect(body.answers.whoDecided.people).toEqual([{ subject: 'alice' }]);
    const { taskId } = body;
    const forge = `UPDATE gateway.submission SET sealed_statement = 'x' FROM gateway.gated_call g
      WHERE g.id = gated_call_id AND g.task_id = $1`;
    await expect(audit.pool.query(forge, [taskId])).rejects.toThrow('never changed');
  });

  it('is stored before the call moves on: when it cannot be stored, nothing has happened', async () => {
    let failures = 1;
    const { lifecycle } = audit.calls.fixture;
    const store: World['store'] = {
      async keepStatement(...of) {
        if (failures-- > 0) throw new CountersignError('ERR_DATABASE_UNAVAILABLE', 'away');
        return lifecycle.keepStatement(...of);
      },
    };
    const body = await driven({ statement: stated(), store });
    expect(body.answers.whoDecided).toMatchObject({ by: 'approvers', people: [{ subject: 'alice' }] });
  });

  it.each<[ResolutionStatus['kind'], RecordedStatement, string, string[]]>([
    [
      'denied',
      stated({ status: 'denied', votes: [approve('alice'), { ...approve('bob'), verdict: 'deny' }] }),
      'approvers',
      ['bob'],
    ],
    ['denied', stated({ status: 'denied', votes: [approve('alice')] }), 'time', []],
    ['expired', stated({ status: 'expired' }), 'time', []],
    ['failed', stated({ status: 'failed' }), 'checks', []],
    ['cancelled', stated({ status: 'cancelled', cancelled: { by: { subject: 'carol' } } }), 'withdrawn', ['carol']],
    ['cancelled', stated({ status: 'cancelled', cancelled: { client: 'billing' } }), 'withdrawn', []],
    ['denied', { kind: 'unreadable' }, 'unreadable', []],
  ])('names who ended a request that was %s', async (kind, statement, by, people) => {
    const status = { kind } as Exclude<ResolutionStatus, { kind: 'granted' }>;
    const { answers } = await driven({ status, statement });
    const subjects = answers.whoDecided.people.map(({ subject }: { subject: string }) => subject);
    expect([answers.whoDecided.by, subjects]).toEqual([by, people]);
  });

  it.each<[string, RecordedStatement, string, string[]]>([
    [
      'a stage that another one replaced decided nothing',
      stated({
        stages: [
          { name: 'manager', quorum: 2 },
          { name: 'director', quorum: 1 },
        ],
        votes: [approve('alice', { stage: 1 }), approve('dora', { stage: 2 })],
      }),
      'approvers',
      ['dora'],
    ],
    [
      'an approval that lapsed decided nothing',
      stated({ votes: [approve('alice', { stage: 1, hasLapsed: true }), approve('bob', { stage: 1 })] }),
      'approvers',
      ['bob'],
    ],
    [
      'votes before a break-glass grant decided nothing',
      stated({ breakGlass: { by: { subject: 'sam' }, reason: 'fire', at: AT } }),
      'break_glass',
      ['sam'],
    ],
  ])('says on whose decision a call ran: %s', async (_case, statement, by, people) => {
    const { answers, headline } = await driven({ statement });
    const subjects = answers.whoDecided.people.map(({ subject }: { subject: string }) => subject);
    expect([answers.whoDecided.by, subjects]).toEqual([by, people]);
    expect(headline.includes('break-glass')).toBe(by === 'break_glass');
  });

  it('is shown as text, without markup from names, reasons or ways', async () => {
    const evil = '<script>alert(1)</script>\u202e';
    const vote = approve(evil, { reason: evil, via: evil, castBy: { subject: `${evil}2`, name: evil }, stage: 1 });
    const { outcomeRef } = await driven({
      statement: stated({ template: evil, stages: [{ name: evil, quorum: 1 }], votes: [vote] }),
    });
    const { text } = await audit.get(`/outcome-records/${outcomeRef}`, { accept: 'text/html' });
    expect(text).toContain('&lt;script>alert(1)');
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('\u202e');
  });
});
