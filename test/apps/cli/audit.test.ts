import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startAuditApp, type AuditUnderTest } from '../audit/audit-app.ts';
import type { EndedCall } from '../audit/ended-calls.ts';
import { SEALING_SECRETS, TEST_SEALS } from '../../support/gated-calls.ts';
import { Desk } from './run.ts';

let audit: AuditUnderTest;
let desk: Desk;
let executed: EndedCall;
let denied: EndedCall;
beforeAll(async () => {
  audit = await startAuditApp();
  desk = new Desk({ audit: { url: audit.base } });
  executed = await audit.calls.end('executed');
  denied = await audit.calls.end('denied');
});
afterAll(async () => {
  await audit.stop();
});

const env = { COUNTERSIGN_TOKEN: 'any' };
const withKey = { ...env, COUNTERSIGN_DIGEST_KEY: SEALING_SECRETS.digestKey };
const run = (...args: string[]) => desk.run(['audit', ...args], { env: withKey });

describe('audit list', () => {
  it('lists records newest first, and passes filters on', async () => {
    const all = await run('list');
    expect(all.code).toBe(0);
    const [heading, first, second] = all.out.split('\n');
    expect(heading).toMatch(/^RECORDED +STATE +TOOL +FOR +TASK +SEAL$/);
    expect([first, second]).toEqual([expect.stringContaining(denied.taskId), expect.stringContaining(executed.taskId)]);
    const { out } = await run(
      'list',
      '--state',
      'executed',
      '--call-digest',
      executed.opening.binding.callDigest,
      '--json',
    );
    expect(JSON.parse(out).items).toEqual([expect.objectContaining({ taskId: executed.taskId, sealIntact: true })]);
  });

  it('says how to ask for the next page', async () => {
    const { out, err } = await run('list', '--limit', '1');
    expect(out).toContain(denied.taskId);
    const cursor = /--cursor (\S+)/.exec(err)?.[1] ?? '';
    const older = await run('list', '--limit', '1', '--cursor', cursor);
    expect(older.out).toContain(executed.taskId);
    const before = /--before (\S+)/.exec(older.err)?.[1] ?? '';
    expect((await run('list', '--limit', '1', '--before', before)).out).toContain(denied.taskId);
  });
});

describe('audit show', () => {
  it('finds a record by each of its ids', async () => {
    const { taskId, decisionId, evaluationId, opening } = executed;
    const { outcomeRef } = JSON.parse((await run('show', taskId, '--json')).out);
    const digest = opening.binding.callDigest;
    const keyed = TEST_SEALS.digest(digest);
    const names = [taskId, decisionId, evaluationId, keyed, digest, digest.replace('sha-256:', ''), outcomeRef];
    for (const id of names) {
      const { code, out } = await run('show', id);
      expect(code).toBe(0);
      expect(out).toContain('The tool ran once.');
      expect(out).toContain(taskId);
    }
  });

  it('refuses to search by a plain digest without the digest key, and says where to search', async () => {
    const { code, out, err } = await desk.run(['audit', 'show', executed.opening.binding.callDigest], { env });
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/ask an operator.*COUNTERSIGN_DIGEST_KEY/);
  });

  it('answers the five questions', async () => {
    const { out } = await run('show', denied.taskId);
    expect(out).toContain('The tool did not run.');
    expect(out).toMatch(/Did it run\? +no\./);
    expect(out).toMatch(/Who decided\? +not stated\./);
    expect(out).toMatch(/Which call\? +hmac-sha-256:/);
    expect(out).toMatch(/Decided first\? +yes \(denial\)/);
    expect(out).toMatch(/Could it run twice\? +no\./);
  });

  it('says that there is no record, or no record yet', async () => {
    expect(await run('show', 'tsk_0')).toMatchObject({ code: 1, err: expect.stringContaining('no such record') });
    const open = await audit.calls.fixture.pending();
    expect((await run('show', open.taskId)).err).toContain('Its state is pending');
  });

  it('exits with 1 for a record that cannot be relied on', async () => {
    const { taskId } = await audit.calls.end('executed');
    await audit.pool.query('ALTER TABLE gateway.outcome_record DISABLE TRIGGER outcome_record_immutable');
    await audit.pool.query('UPDATE gateway.outcome_record SET body = body || $1 WHERE task_id = $2', [' ', taskId]);
    const { code, out, err } = await run('show', taskId);
    expect(code).toBe(1);
    expect(out).toContain('BROKEN');
    expect(err).toContain('the record is not reliable');
  });
});
