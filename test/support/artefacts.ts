import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sealsOf, type SealedDatabase } from './sealed-calls.ts';
import type { Stack } from './stack.ts';

/** The database of a stack, and the secrets that open it. */
export async function sealedDatabase(stack: Stack): Promise<SealedDatabase> {
  return { database: await stack.database(), secrets: stack.development.secrets };
}

/** The ids of all tasks. */
export async function allTaskIds(stack: Stack): Promise<string[]> {
  const database = await stack.database();
  const { rows } = await database.query<{ task_id: string }>('SELECT task_id FROM gateway.gated_call');
  return rows.map(({ task_id: taskId }) => taskId);
}

/** The task behind an access request. */
export async function taskIdOf(stack: Stack, accessRequestId: string | undefined): Promise<string> {
  const of = await sealedDatabase(stack);
  const { rows } = await of.database.query<{ task_id: string }>(
    `SELECT g.task_id FROM gateway.gated_call g JOIN gateway.submission s ON s.gated_call_id = g.id
     WHERE s.access_request_key = $1`,
    [sealsOf(of).digest(accessRequestId ?? '')],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`no task for ${accessRequestId}`);
  return row.task_id;
}

function logOf({ stateDir }: Stack): string[] {
  const file = join(stateDir, 'logs', 'countersign.log');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

/** All warnings of the product's parts so far: they explain an answer without a reason. */
export const warningsOf = (stack: Stack): string =>
  logOf(stack)
    .filter((line) => /"level":(40|50|60)/.test(line))
    .join('\n');

/** How often a part has logged these words so far. */
export const timesLogged = (stack: Stack, words: string, part: string): number =>
  logOf(stack).filter((line) => new RegExp(`"name":"${part}".*${words}`).test(line)).length;
