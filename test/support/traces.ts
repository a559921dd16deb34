import { readdirSync } from 'node:fs';
import type { Stack } from './stack.ts';

const TABLES = [
  'gateway.gated_call',
  'gateway.submission',
  'gateway.decision',
  'gateway.execution_claim',
  'gateway.invocation',
  'gateway.callback_inbox',
  'pdp.evaluation',
  'approvals.access_request',
  'approvals.vote',
] as const;
/** Handled rows are deleted, so the count is of all rows that were ever queued. */
const OUTBOXES = ['gateway.outbox', 'approvals.outbox'] as const;

type Counted = (typeof TABLES)[number] | (typeof OUTBOXES)[number];
type Seen = Counted | 'calls of tools' | 'files';
export type Traces = Readonly<Record<Seen, number>>;

/** The number of every trace that a tool call can leave: rows, calls that reached the file server, files. */
export async function tracesIn(stack: Stack): Promise<Traces> {
  const database = await stack.database();
  const counts = [
    ...TABLES.map((table) => `(SELECT count(*)::int FROM ${table}) AS "${table}"`),
    ...OUTBOXES.map((table) => `coalesce(pg_sequence_last_value('${table}_id_seq'), 0)::int AS "${table}"`),
  ];
  const { rows } = await database.query<Record<Counted, number>>(`SELECT ${counts.join(', ')}`);
  const [row] = rows;
  if (row === undefined) throw new Error('a statement that always returns a row returned none');
  return { ...row, 'calls of tools': stack.upstreamCalls().length, files: readdirSync(stack.files).length };
}

/** All pending work, anywhere: empty when no process left anything behind. */
export async function openWork(stack: Stack): Promise<string[]> {
  const database = await stack.database();
  const { rows } = await database.query<{ what: string }>(`
    SELECT 'gated call ' || state AS what FROM gateway.gated_call WHERE ended_at IS NULL
    UNION ALL SELECT 'access request ' || status FROM approvals.access_request WHERE ended_at IS NULL
    UNION ALL SELECT 'to do ' || kind FROM gateway.outbox
    UNION ALL SELECT 'to do ' || kind FROM approvals.outbox
    UNION ALL SELECT 'to do ' || kind FROM approvals.question_outbox
    ORDER BY what`);
  return rows.map(({ what }) => what);
}
