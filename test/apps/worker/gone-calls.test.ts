import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createDueCalls } from '../../../activities/stores/due-calls.ts';
import { type Running, stopAll } from '../../../apps/shared/lifecycle.ts';
import { startOutbox } from '../../../apps/shared/outbox.ts';
import { outboxHandlers } from '../../../apps/worker/jobs/deliver-outbox.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { ownCalls } from '../../support/own-calls.ts';
import { stepsIn } from '../../support/steps.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const KINDS = ['start_workflow', 'signal_workflow', 'cancel_access_request'];

describe('a deleted call', () => {
  const own = ownCalls();
  let lines: { msg: string; kind?: string; subjectId?: string; gatedCall?: string }[];
  let parts: Running[];
  beforeEach(() => {
    lines = [];
    parts = [];
  });
  afterEach(() => stopAll(parts));

  /** An outbox without the engine and the access request service. */
  async function startOutboxAlone() {
    const away = (code: 'ERR_UPSTREAM_UNAVAILABLE' | 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE') => () =>
      Promise.reject(new CountersignError(code, 'away'));
    const engine = away('ERR_UPSTREAM_UNAVAILABLE');
    const service = away('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE');
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const handlers = outboxHandlers({
      workflows: { start: engine, signal: engine, activity: engine },
      calls: own.fixture.lifecycle,
      accessRequests: { submit: service, read: service, stated: service, cancel: service },
      log,
    });
    const { pool, url: listenUrl } = own.db;
    const of = { pool, listenUrl, schema: 'gateway', channel: 'gateway_outbox', concurrency: 4 };
    parts.push(await startOutbox({ ...systemTime, ...of, handlers, log }));
  }
  const entriesOf = async (id: string) =>
    (await own.db.pool.query<{ kind: string }>('SELECT kind FROM gateway.outbox WHERE subject_id = $1', [id])).rows.map(
      ({ kind }) => kind,
    );
  const failuresOf = (id: string) =>
    new Set(
      lines
        .filter(({ msg, subjectId }) => msg.startsWith('a row could not be handled') && subjectId === id)
        .map((line) => line.kind),
    );
  const droppedOf = (id: string) =>
    lines.filter(({ msg, gatedCall }) => msg.startsWith('an outbox entry is dropped') && gatedCall === id);
  const makeDue = async (id: string) => {
    await own.db.pool.query('UPDATE gateway.outbox SET available_at = clock_timestamp() WHERE subject_id = $1', [id]);
  };

  async function withEntries() {
    const call = await own.fixture.pending();
    await own.db.pool.query('DELETE FROM gateway.outbox');
    for (const kind of KINDS) await own.db.pool.query('SELECT gateway.enqueue($1, $2)', [kind, call.gatedCallId]);
    return call.gatedCallId;
  }
  async function forget(id: string) {
    await own.db.pool.query(`SELECT gateway.end_unclaimed($1, 'denied', 'policy_denied', 're-evaluation', 0)`, [id]);
    await own.db.pool.query('UPDATE gateway.gated_call SET retain_until = now() WHERE id = $1', [id]);
    expect(await createDueCalls(own.db.pool).forget(10)).toBe(1);
  }
  /** An administrator can delete a call, and a restored copy older than the call lacks it too. */
  async function deleteRows(id: string) {
    const client = await own.db.pool.connect();
    try {
      await client.query('BEGIN; SET LOCAL session_replication_role = replica');
      for (const table of ['data_key', 'call_binding', 'submission', 'decision', 'call_event'])
        await client.query(`DELETE FROM gateway.${table} WHERE gated_call_id = $1`, [id]);
      await client.query('DELETE FROM gateway.gated_call WHERE id = $1', [id]);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
  }

  it.each([
    ['forgotten', forget],
    ['deleted', deleteRows],
  ])('has no outbox entry that is retried for ever, once it is %s', async (_how, goes) => {
    const id = await withEntries();
    await startOutboxAlone();
    await waitFor(() => failuresOf(id).size === KINDS.length);
    expect((await entriesOf(id)).sort()).toEqual([...KINDS].sort());
    expect(droppedOf(id)).toEqual([]);
    // An entry that is handled after the end of its call, and before the call goes, succeeds: it has nothing to do.
    await stopAll(parts.splice(0));
    await goes(id);
    await startOutboxAlone();
    await waitFor(async () => {
      await makeDue(id);
      return (await entriesOf(id)).length === 0;
    });
    expect(new Set(droppedOf(id).map(({ kind }) => kind))).toEqual(new Set(KINDS));
  });

  it('keeps its outbox entries when only a part of it is missing', async () => {
    const id = await withEntries();
    await own.db.pool.query('DELETE FROM gateway.call_binding WHERE gated_call_id = $1', [id]);
    await startOutboxAlone();
    await waitFor(() => failuresOf(id).size === KINDS.length);
    expect(await entriesOf(id)).toHaveLength(KINDS.length);
    await own.db.pool.query('DELETE FROM gateway.outbox');
  });

  it.each([
    ['forgotten', forget],
    ['deleted', deleteRows],
  ])('ends its workflow, once it is %s', async (_how, goes) => {
    const { gatedCallId } = await own.fixture.pending();
    const logged: Record<string, unknown>[] = [];
    const steps = stepsIn({ lines: logged }, own.fixture.lifecycle);
    expect(await steps.toTheClaim({ gatedCallId })).toMatchObject({ kind: 'open' });
    await goes(gatedCallId);
    expect(await steps.toTheClaim({ gatedCallId })).toEqual({ kind: 'ended' });
    expect(await steps.settle({ gatedCallId })).toEqual({ kind: 'ended' });
    expect(logged.filter((line) => line['gatedCall'] === gatedCallId)).toHaveLength(2);
  });

  it('differs from a call that cannot be read now, whose workflow continues', async () => {
    const gatedCallId = randomUUID();
    const away = () => Promise.reject(new CountersignError('ERR_DATABASE_UNAVAILABLE', 'away'));
    const steps = stepsIn({ store: { load: away, isGone: away } }, own.fixture.lifecycle);
    await expect(steps.toTheClaim({ gatedCallId })).rejects.toMatchObject({ code: 'ERR_DATABASE_UNAVAILABLE' });
  });
});
