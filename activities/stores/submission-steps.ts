import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import type { AccessRequestHandle, TakenSubmission } from '../../workflows/domain/gated-call/submission.ts';
import type { GatedCallView } from '../../workflows/domain/ports.ts';
import { query, queryOne } from './query.ts';
import { sealsOf, WITHOUT_FLUSH, type StepContext } from './step-context.ts';
import { taskViewOf, type TaskRow } from './task-view.ts';

interface Attached {
  readonly outcome: 'attached' | 'ended' | 'conflict';
  readonly task?: GatedCallView;
}

/** From the intent to the handle. */
export function submissionSteps(context: StepContext) {
  const { pool, seals } = context;
  async function release(gatedCallId: string): Promise<void> {
    await query(pool, 'release-submission', 'SELECT gateway.release_submission($1)', [gatedCallId]);
  }
  return {
    /**
     * Wins the right to contact the access request service, for this long; undefined when somebody else has it. Does not
     * wait for the disk: should a crash take the lease back, the same key and body open nothing twice.
     */
    async takeSubmission(gatedCallId: string, leaseMs: number): Promise<TakenSubmission | undefined> {
      const [row] = await query<SubmissionRow>(
        pool,
        'take-submission',
        `SELECT t.* FROM gateway.take_submission($1, $2) AS t, ${WITHOUT_FLUSH}`,
        [gatedCallId, leaseMs],
      );
      if (row === undefined) return undefined;
      try {
        return submissionOf(row, seals, gatedCallId);
      } catch (error) {
        // Nothing can be submitted from here. A process that has the key need not wait for the lease to run out.
        await release(gatedCallId).catch(() => undefined);
        throw error;
      }
    },

    readSubmission: (gatedCallId: string) => readSubmission(context, gatedCallId),

    /** Gives the right back, so that the next caller need not wait for the lease to run out. */
    releaseSubmission: release,

    /**
     * `conflict`: the service gave another handle for the same key. `ended`: the call was given up meanwhile. The task
     * comes along when it can be shown as it is.
     */
    async attachHandle(gatedCallId: string, generation: number, handle: AccessRequestHandle): Promise<Attached> {
      const keys = await sealsOf(context, gatedCallId);
      const sealed = keys.seal('submission.sealed_handle', JSON.stringify(handle), generation);
      const requestKey = seals.digest(handle.accessRequestId);
      const { outcome, ...row } = await queryOne<TaskRow & Pick<Attached, 'outcome'>>(
        pool,
        'attach-handle',
        'SELECT a.outcome, (a.task).* FROM gateway.attach_handle($1, $2, $3, $4, $5, $6) AS a',
        [gatedCallId, generation, requestKey, sealed, handle.expiresAt ?? null, handle.isSettled === true],
      );
      return { outcome, ...(outcome === 'attached' && !row.due && { task: taskViewOf(row, seals) }) };
    },
  };
}

/** The submission of the current generation, whoever has the right to send it. */
async function readSubmission({ pool, seals }: StepContext, gatedCallId: string): Promise<TakenSubmission> {
  const row = await queryOne<SubmissionRow>(
    pool,
    'read-submission',
    `SELECT s.generation, s.endpoint, s.idempotency_key, s.sealed_body, k.call_key
       FROM gateway.gated_call g JOIN gateway.data_key k ON k.gated_call_id = g.id
       JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = g.generation WHERE g.id = $1`,
    [gatedCallId],
  );
  return submissionOf(row, seals, gatedCallId);
}

interface SubmissionRow {
  readonly generation: number;
  readonly endpoint: string;
  readonly idempotency_key: string;
  readonly sealed_body: string;
  readonly call_key: string | null;
}

function submissionOf(row: SubmissionRow, seals: Seals, gatedCallId: string): TakenSubmission {
  const keys = seals.forCall(gatedCallId, { call: row.call_key, record: null });
  return {
    generation: row.generation,
    endpoint: row.endpoint,
    idempotencyKey: row.idempotency_key,
    body: keys.open('submission.sealed_body', row.sealed_body, row.generation),
  };
}
