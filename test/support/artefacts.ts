import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLifecycleStore } from '../../activities/stores/lifecycle.store.ts';
import { createSeals } from '../../activities/stores/seals.ts';
import type { OpenRequest } from './decisions.ts';
import type { Stack } from './stack.ts';

/** Opens what a stack keeps sealed. */
function sealsOf({ development: { secrets } }: Stack) {
  return createSeals({ keys: secrets.sealingKeys, digestKey: secrets.digestKey });
}

/** Every text of the approval side that the enforcement side holds: none of it may reach an agent. */
export async function approvalArtefacts(stack: Stack): Promise<string[]> {
  const database = await stack.database();
  const store = createLifecycleStore(database, { seals: sealsOf(stack), retentionMs: 1 });
  const { rows } = await database.query<{ id: string; evaluations: string[] }>(
    'SELECT gated_call_id AS id, array_agg(evaluation_id) AS evaluations FROM gateway.decision GROUP BY gated_call_id',
  );
  const texts = rows.map(async ({ id, evaluations }) => {
    const [{ handle, approval }, { body, idempotencyKey }] = await Promise.all([
      store.load(id),
      store.readSubmission(id),
    ]);
    const { denial, callback } = JSON.parse(body) as {
      denial: { binding_token: string; evaluation_id: string };
      callback: { state: string };
    };
    return [
      ...evaluations,
      idempotencyKey,
      handle?.accessRequestId,
      denial.binding_token,
      denial.evaluation_id,
      callback.state,
      approval?.id,
      approval?.state,
    ];
  });
  return [...new Set((await Promise.all(texts)).flat().filter((text) => text !== undefined && text !== null))];
}

/** The task behind an access request. */
export async function taskIdOf(stack: Stack, accessRequestId: string | undefined): Promise<string> {
  const { rows } = await (
    await stack.database()
  ).query<{ task_id: string }>(
    `SELECT g.task_id FROM gateway.gated_call g JOIN gateway.submission s ON s.gated_call_id = g.id
     WHERE s.access_request_key = $1`,
    [sealsOf(stack).digest(accessRequestId ?? '')],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`no task for ${accessRequestId}`);
  return row.task_id;
}

/** The access request behind a task. */
export async function requestOf(stack: Stack, taskId: string): Promise<OpenRequest> {
  const database = await stack.database();
  const store = createLifecycleStore(database, { seals: sealsOf(stack), retentionMs: 1 });
  const { rows } = await database.query<{ id: string }>('SELECT id FROM gateway.gated_call WHERE task_id = $1', [
    taskId,
  ]);
  const { handle, generation, binding } = await store.load(rows[0]?.id ?? '');
  if (handle === undefined) throw new Error(`no access request for ${taskId}`);
  return { id: handle.accessRequestId, generation, callDigest: binding.callDigest };
}

/** What the product's parts have warned of so far: the reason behind an answer that gives none. */
export function warningsOf({ stateDir }: Stack): string {
  const file = join(stateDir, 'logs', 'countersign.log');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return lines.filter((line) => /"level":(40|50|60)/.test(line)).join('\n');
}
