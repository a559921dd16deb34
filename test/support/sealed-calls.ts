import type { Pool } from 'pg';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createSeals, type SealingSecrets } from '../../activities/stores/seals.ts';
import type { EndReason } from '../../workflows/domain/gated-call/gated-call.ts';
import type { WrappedKeys } from '../../workflows/domain/gated-call/sealing.ts';
import type { OpenRequest } from './decisions.ts';
import { systemTime } from './time.ts';

/** A database, and the secrets that open it. */
export interface SealedDatabase {
  readonly database: Pool;
  readonly secrets: SealingSecrets;
}

export const sealsOf = ({ secrets }: SealedDatabase) => createSeals(secrets);

interface Row extends WrappedKeys {
  readonly id: string;
  readonly reason: EndReason | null;
  readonly sealed_result: string | null;
}

/** The enforcement side's data of a task, opened. Undefined when there is no such task. */
export async function openCall(of: SealedDatabase, taskId: string) {
  const seals = sealsOf(of);
  const store = createLifecycleStore(of.database, { ...systemTime, seals, retentionMs: 1 });
  const { rows } = await of.database.query<Row>(
    `SELECT g.id, g.reason, r.sealed_result, k.call_key AS call, k.record_key AS record FROM gateway.gated_call g
     JOIN gateway.data_key k ON k.gated_call_id = g.id LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
     WHERE g.task_id = $1`,
    [taskId],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const [call, submission] = await Promise.all([store.load(row.id), store.readSubmission(row.id)]);
  const keys = seals.forCall(row.id, row);
  const result = row.sealed_result === null ? null : keys.open('call_result.sealed_result', row.sealed_result);
  return { ...call, taskId, reason: row.reason, submission, result };
}

/** The access request behind a task. */
export async function requestOf(of: SealedDatabase, taskId: string): Promise<OpenRequest> {
  const call = await openCall(of, taskId);
  if (call?.handle === undefined) throw new Error(`no access request for ${taskId}`);
  return { id: call.handle.accessRequestId, generation: call.generation, callDigest: call.binding.callDigest };
}

/** Every text that the approval side holds about these tasks: no agent may see any of it. */
export async function approvalArtefacts(of: SealedDatabase, taskIds: readonly string[]): Promise<string[]> {
  const texts = taskIds.map(async (taskId) => {
    const call = await openCall(of, taskId);
    if (call === undefined) return [];
    const { denial, callback } = JSON.parse(call.submission.body) as {
      denial: { binding_token: string; evaluation_id: string };
      callback: { state: string };
    };
    return [
      call.submission.idempotencyKey,
      call.handle?.accessRequestId,
      call.handle?.statusEndpoint,
      denial.binding_token,
      denial.evaluation_id,
      callback.state,
      call.approval?.id,
      call.approval?.presented['state'],
    ];
  });
  return [
    ...new Set(
      (await Promise.all(texts)).flat().filter((text): text is string => typeof text === 'string' && text !== ''),
    ),
  ];
}
