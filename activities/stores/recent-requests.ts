import type { Pool } from 'pg';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';
import type { RecentRequest } from '../../workflows/domain/ports.ts';
import { requestRefOf } from './handles.ts';
import { ifAway } from './if-away.ts';
import { query } from './query.ts';
import { expire } from './step-context.ts';

interface RecentRow {
  readonly id: string;
  readonly state: GatedCallState;
  readonly tool: string;
  readonly created_at: Date;
  readonly age_seconds: number;
  readonly due: boolean;
}

const RECENT = `
  SELECT id, state, tool, created_at, due, floor(extract(epoch FROM clock_timestamp() - created_at))::int AS age_seconds
  FROM gateway.task
  WHERE owner_key = $1 AND state <> 'preparing' AND (ended_at IS NULL OR retain_until > clock_timestamp())
  ORDER BY created_at DESC LIMIT $2`;

/** An owner's newest requests. One past a deadline is ended before it is shown, as it is when it is looked at by itself. */
export async function recentRequests(
  pool: Pool,
  { seals, retentionMs }: { readonly seals: Seals; readonly retentionMs: number },
  owner: string,
  limit: number,
): Promise<readonly RecentRequest[]> {
  const read = () => query<RecentRow>(pool, 'recent', RECENT, [seals.digest(owner), limit]);
  let rows = await read();
  const due = rows.filter((row) => row.due);
  for (const { id } of due) await expire({ pool, retentionMs }, id).catch(ifAway(undefined));
  if (due.length > 0) rows = await read();
  return rows.map((row) => ({
    requestRef: requestRefOf(row.id, seals),
    state: row.state,
    tool: row.tool,
    createdAt: row.created_at.toISOString(),
    ageSeconds: row.age_seconds,
  }));
}
