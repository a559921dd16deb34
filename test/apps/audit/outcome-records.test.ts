import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TERMINAL_STATES } from '../../../workflows/domain/gated-call/outcome-record.ts';
import { anOpening, TEST_SEALS } from '../../support/gated-calls.ts';
import { wordsOf } from '../../support/pages.ts';
import { CANARY_RESULT, type EndedCall } from './ended-calls.ts';
import { startAuditApp, type AuditUnderTest } from './audit-app.ts';

const CANARY = 'canary-in-the-arguments';
const withCanary = () => anOpening({ args: { path: '/etc/passwd', content: `${CANARY} ${Math.random()}` } });
const keyed = ({ opening }: EndedCall) => TEST_SEALS.digest(opening.binding.callDigest);
const sha256 = (text: string) => `sha-256:${createHash('sha256').update(text).digest('hex')}`;

let audit: AuditUnderTest;
beforeAll(async () => void (audit = await startAuditApp()));
afterAll(() => audit.stop());

describe('an outcome record', () => {
  const expected = {
    executed: ['yes', 'approval', 'approved-executed', 1],
    execution_error: ['yes', 'approval', 'execution-error', 1],
    outcome_unknown: ['unknown', 'approval', 'outcome-unknown', 1],
    denied: ['no', 'denial', 'denied-not-executed', 0],
    cancelled: ['no', 'cancellation', undefined, 0],
    failed: ['no', 'failure', undefined, 0],
  } as const;

  it.each(TERMINAL_STATES)('answers the five questions for a call that ended as %s', async (state) => {
    const call = await audit.calls.end(state, withCanary());
    const { status, body } = await audit.json(`/outcome-records/by-task/${call.taskId}`);
    const [didRun, verdict, disposition, claimCount] = expected[state];
    expect(status).toBe(200);
    expect(body).toMatchObject({ taskId: call.taskId, state, sealIntact: true });
    expect(body.disposition).toBe(disposition);
    expect(body.answers.contradictions).toEqual([]);
    expect(body.answers.didRun.answer).toBe(didRun);
    expect(body.answers.call).toMatchObject({
      tool: 'files__write_file',
      callDigest: TEST_SEALS.digest(call.opening.binding.callDigest),
      requester: { subject: 'agent' },
    });
    expect(body.answers.terminalBeforeExecution).toMatchObject({ verdict, wasDecidedBeforeExecution: true });
    expect(body.answers.couldRunTwice).toMatchObject({ answer: 'no', claimCount, siblings: [] });
  });

  it("shows how each decision's obligations ended [OBL-26]", async () => {
    const obligations = [{ id: 'o-1', type: 'notification', outcome: 'carried_out' as const }];
    const { decision, submission, ...opening } = withCanary();
    const call = await audit.calls.end('denied', { ...opening, submission, decision: { ...decision, obligations } });
    const { body } = await audit.json(`/outcome-records/by-task/${call.taskId}`);
    expect(body.record.decisions).toMatchObject([{ obligations }]);
    const page = await audit.get(`/outcome-records/by-task/${call.taskId}`, { accept: 'text/html' });
    expect(wordsOf(page.text)).toContain('notification o-1: carried out');
  });

  it('has the digest of each preview, sealed, and not its content', async () => {
    const said = { isError: false, digest: `sha-256:${'ab'.repeat(32)}`, bytes: 12_345 };
    const preview = { tool: 'files__look_first', takenAt: '2026-11-21T16:51:00.000Z', said };
    const { taskId, gatedCallId } = await audit.calls.end('denied', { ...withCanary(), preview });
    const { body } = await audit.json(`/outcome-records/by-task/${taskId}`);
    expect(body.record.previews).toEqual([{ ...preview, takenAt: '2026-11-21T16:51:00.000000Z' }]);
    expect(body.answers).toMatchObject({ contradictions: [], didRun: { answer: 'no' } });
    for (const text of ['look_first', said.digest]) expect(body.seal.text).not.toContain(text);
    const page = await audit.get(`/outcome-records/by-task/${taskId}`, { accept: 'text/html' });
    for (const words of ['files__look_first', said.digest, 'a result of 12,345 bytes', 'Preview shown to approvers'])
      expect(wordsOf(page.text)).toContain(words);
    await expect(audit.pool.query('UPDATE gateway.preview SET number = 2')).rejects.toMatchObject({ code: 'CS002' });
    const none = { tool: 'files__look_first', takenAt: preview.takenAt, fault: 'late' } as const;
    const without = await audit.calls.end('denied', { ...withCanary(), preview: none });
    const html = await audit.get(`/outcome-records/by-task/${without.taskId}`, { accept: 'text/html' });
    expect(wordsOf(html.text)).toMatch(/No preview(?=late)/);
    await audit.pool.query('UPDATE gateway.gated_call SET retain_until = now() WHERE id = $1', [gatedCallId]);
    await audit.pool.query('SELECT gateway.forget_ended(1000)');
    const { rows } = await audit.pool.query('SELECT FROM gateway.preview WHERE gated_call_id = $1', [gatedCallId]);
    expect(rows).toEqual([]);
    expect((await audit.json(`/outcome-records/by-task/${taskId}`)).body.record.previews).toHaveLength(1);
  });

  it('says that no tool ran when the call was not sent', async () => {
    const { body } = await audit.json(`/outcome-records/by-task/${(await audit.calls.notSent()).taskId}`);
    expect(body.answers.didRun.answer).toBe('no');
    expect(body.answers.contradictions).toEqual([]);
  });

  it('calls a request without a resolution in time an expiry', async () => {
    const { body } = await audit.json(`/outcome-records/by-task/${(await audit.calls.expiredRequest()).taskId}`);
    expect(body.answers.terminalBeforeExecution.verdict).toBe('expiry');
  });

  it('is the same by task, by either id of a decision, by call and by its own reference', async () => {
    const call = await audit.calls.end('executed');
    const byTask = (await audit.json(`/outcome-records/by-task/${call.taskId}`)).body;
    const { body: byCall } = await audit.json(`/outcome-records/by-call/${keyed(call)}`);
    expect(byCall.items).toEqual([byTask]);
    for (const path of [
      `by-decision/${call.decisionId}`,
      `by-decision/${call.decisionId.toUpperCase()}`,
      `by-decision/${call.evaluationId}`,
      byTask.outcomeRef,
    ]) {
      expect((await audit.json(`/outcome-records/${path}`)).body).toEqual(byTask);
    }
  });

  it('can be checked with SHA-256 alone', async () => {
    const { taskId } = await audit.calls.end('executed');
    const { seal } = (await audit.json(`/outcome-records/by-task/${taskId}`)).body;
    expect(sha256(seal.text)).toBe(seal.recorded);
    expect(seal.recomputed).toBe(seal.recorded);
  });

  it('never shows arguments or a result, in JSON or on a page', async () => {
    const call = await audit.calls.end('executed', withCanary());
    const { outcomeRef } = (await audit.json(`/outcome-records/by-task/${call.taskId}`)).body;
    for (const path of ['', `/${outcomeRef}`, `/by-call/${keyed(call)}`]) {
      for (const accept of ['application/json', 'text/html']) {
        const { text } = await audit.get(`/outcome-records${path}`, { accept });
        expect(text).toContain(outcomeRef);
        expect(text).not.toContain(CANARY);
        expect(text).not.toContain('/etc/passwd');
        expect(text).not.toContain(CANARY_RESULT);
      }
    }
  });

  it('links the other calls with the same tool and arguments, ended or open', async () => {
    const opening = withCanary();
    const first = await audit.calls.end('executed', opening);
    const second = await audit.calls.end('denied', opening);
    const open = await audit.calls.fixture.pending(opening);
    const { body } = await audit.json(`/outcome-records/by-task/${first.taskId}`);
    expect(body.answers.couldRunTwice.answer).toBe('no');
    expect(body.answers.couldRunTwice.siblings).toEqual([
      expect.objectContaining({ taskId: second.taskId, state: 'denied', outcomeRef: expect.stringMatching(/^out_/) }),
      { taskId: open.taskId, state: 'pending' },
    ]);
    const byCall = await audit.json(`/outcome-records/by-call/${keyed(first)}`);
    expect(byCall.body.items.map((item: { taskId: string }) => item.taskId)).toEqual([second.taskId, first.taskId]);
  });

  it('shows a result that came too late, and keeps its answers about the call', async () => {
    const { taskId, gatedCallId } = await audit.calls.end('outcome_unknown');
    const before = (await audit.json(`/outcome-records/by-task/${taskId}`)).body;
    expect(before).not.toHaveProperty('lateResult');
    const { lifecycle } = audit.calls.fixture;
    const invocationId = (await lifecycle.progress(gatedCallId)).invocation?.invocationId ?? '';
    const late = { isError: false, text: `{"content":["${CANARY_RESULT}"]}` };
    await lifecycle.settleResult({ gatedCallId, invocationId, cause: 'result' }, late);
    const { body } = await audit.json(`/outcome-records/by-task/${taskId}`);
    const lateResult = { isError: false, digest: expect.stringMatching(/^hmac-/), at: expect.stringMatching(/Z$/) };
    expect(body).toEqual({ ...before, lateResult });
    const page = await audit.get(`/outcome-records/${body.outcomeRef}`, { accept: 'text/html' });
    expect(page.text).toMatch(/Came too late/);
    expect(page.text + JSON.stringify(body)).not.toContain(CANARY_RESULT);
  });

  it('does not exist while the call is open, and the refusal names the state of the call', async () => {
    const opening = anOpening();
    const { taskId } = await audit.calls.fixture.pending(opening);
    for (const path of [`by-task/${taskId}`, `by-decision/${opening.decision.evaluationId}`]) {
      const { status, body } = await audit.json(`/outcome-records/${path}`);
      expect([path, status, body.title]).toEqual([path, 404, 'This call has not ended']);
      expect(body.detail).toContain('pending');
    }
  });

  it.each([
    'by-task/tsk_0',
    'by-decision/x',
    'by-call/x',
    'out_0',
    'by-task/%00',
    'out_%00',
    `by-call/${'a'.repeat(400)}`,
  ])('is not found under %s', async (path) => {
    const { status, body } = await audit.json(`/outcome-records/${path}`);
    expect([status, body.title]).toEqual([404, 'There is no such record']);
  });

  it('cannot be written through the audit application', async () => {
    await expect(audit.readOnly.query('CREATE TABLE gateway.x (y int)')).rejects.toThrow('read-only');
  });
});

describe('a record under a key that this process lacks', () => {
  it('is listed but cannot be shown, and is not reported as tampered with', async () => {
    const { taskId } = await audit.calls.end('executed');
    const change = `UPDATE gateway.data_key SET call_key = call_key || '-next', record_key = record_key || '-next'
      WHERE gated_call_id = (SELECT id FROM gateway.gated_call WHERE task_id = $1)`;
    await audit.pool.query(change, [taskId]);
    const { body } = await audit.json('/outcome-records?limit=200');
    const listed = body.items.find((item: { taskId: string }) => item.taskId === taskId);
    expect(listed).toMatchObject({ sealIntact: true, requester: '(cannot be read)' });
    for (const path of [`by-task/${taskId}`, listed.outcomeRef as string]) {
      const alone = await audit.json(`/outcome-records/${path}`);
      expect([alone.status, alone.body.title]).toEqual([503, 'This record cannot be opened here']);
      expect(alone.body.detail).toMatch(/says nothing against the record.*Try again when an operator has added it/);
    }
  });
});

describe('a record that was changed', () => {
  const tamper = async (taskId: string, change: string) => {
    const client = await audit.pool.connect();
    try {
      await client.query('ALTER TABLE gateway.outcome_record DISABLE TRIGGER outcome_record_immutable');
      await client.query(`UPDATE gateway.outcome_record SET ${change} WHERE task_id = $1`, [taskId]);
    } finally {
      await client.query('ALTER TABLE gateway.outcome_record ENABLE TRIGGER outcome_record_immutable');
      client.release();
    }
  };

  it('is reported as broken and answers no question when its text was changed', async () => {
    const { taskId } = await audit.calls.end('executed');
    await tamper(taskId, `body = replace(body, '"state": "executed"', '"state": "denied"')`);
    const { body } = await audit.json(`/outcome-records/by-task/${taskId}`);
    expect(body).toMatchObject({ sealIntact: false, headline: 'The tool may have run.' });
    expect(body.answers.didRun.answer).toBe('unknown');
    expect(body.answers.couldRunTwice.answer).toBe('unknown');
    expect(body.answers.contradictions[0]).toContain('changed after it was written');
    const page = await audit.get(`/outcome-records/${body.outcomeRef}`, { accept: 'text/html' });
    expect(page.text).toContain('role="alert"');
    expect(page.text).toContain('The seal of this record is broken');
    const list = await audit.json('/outcome-records?limit=200');
    expect(list.body.items.find((item: { taskId: string }) => item.taskId === taskId).sealIntact).toBe(false);
  });

  it('is shown even when its text is no longer a record', async () => {
    const { taskId } = await audit.calls.end('executed');
    await tamper(taskId, `body = 'gone', digest = '${sha256('gone')}'`);
    const { body } = await audit.json(`/outcome-records/by-task/${taskId}`);
    expect(body).toMatchObject({ sealIntact: false, headline: 'The tool may have run.', seal: { text: 'gone' } });
    const page = await audit.get(`/outcome-records/${body.outcomeRef}`, { accept: 'text/html' });
    expect(page.text).toContain('can no longer be read as a record');
  });

  it('contradicts itself when a column differs from the text', async () => {
    const { taskId } = await audit.calls.end('executed');
    await tamper(taskId, "state = 'denied'");
    const { body } = await audit.json(`/outcome-records/by-task/${taskId}`);
    expect(body.sealIntact).toBe(true);
    expect(body.answers.contradictions).toEqual(['The columns beside the record do not say what its text says.']);
    expect(body.answers.didRun.answer).toBe('unknown');
  });
});
