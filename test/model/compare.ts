import type { Pool } from 'pg';
import { operationsOn, rowTree, type Branch } from './operations.ts';
import { apply, type Operation, type Row } from './row.ts';
import { createStoredRow } from './stored-row.ts';

export interface Comparison {
  readonly rows: number;
  readonly tried: number;
  /** The first operation whose answer or effect differs in the database; undefined when they agree. */
  readonly difference?: {
    readonly row: Row;
    readonly operation: string;
    readonly model: unknown;
    readonly database: unknown;
  };
}

/**
 * Tries the model's operations on the database in every reachable row: all operations in the first generation, and in
 * the second all that lead to a new row, plus a sample of the rest. When brief, it tries all that lead to a new row, and
 * one of each kind of the rest. No change is committed.
 */
export async function compareWithModel(pool: Pool, { oneIn = 10, isBrief = false } = {}): Promise<Comparison> {
  const client = await pool.connect();
  const stored = createStoredRow(client);
  let [tried, turn] = [0, 0];
  let difference: Comparison['difference'];
  const isFirstOfKind = firstOfKind();
  const isTried = (row: Row, operation: Operation) =>
    isBrief ? isFirstOfKind(row, operation) : row.generation === 1 || turn++ % oneIn === 0;

  async function explore({ row, next }: Branch, depth: number): Promise<void> {
    const savepoint = `at_${depth}`;
    await client.query(`SAVEPOINT ${savepoint}`);
    for (const operation of operationsOn(row)) {
      const name = JSON.stringify(operation);
      const further = next.find((one) => JSON.stringify(one.operation) === name);
      if (further === undefined && !isTried(row, operation)) continue;
      const model = apply(row, operation);
      tried += 1;
      const database = await answerOf(async () => {
        const answer = await stored.perform(operation);
        return { row: await stored.read(further === undefined ? savepoint : undefined), answer };
      });
      if (JSON.stringify(database) !== JSON.stringify({ row: model.row, answer: model.answer })) {
        difference = { row, operation: name, model, database };
        return;
      }
      if (further === undefined) continue;
      await explore(further.branch, depth + 1);
      if (difference !== undefined) return;
      await client.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);
    }
  }

  const { root, rows } = rowTree();
  try {
    await client.query('BEGIN');
    await explore(root, 0);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
  return { rows, tried, ...(difference !== undefined && { difference }) };
}

/** Whether no such operation was asked about before, on a row with the same state, generation and deadlines. */
function firstOfKind(): (row: Row, operation: Operation) => boolean {
  const seen = new Set<string>();
  return ({ state, generation, approval, requestOver, executionOver, permit }, operation) => {
    const kind = [operation, state, generation, approval, requestOver, executionOver, permit === 0];
    const before = seen.size;
    return seen.add(JSON.stringify(kind)).size > before;
  };
}

/** A function that raises where the model has an answer differs from the model. */
async function answerOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return { raised: String(error) };
  }
}
