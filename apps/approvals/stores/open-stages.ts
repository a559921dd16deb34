import type { Query } from '../../shared/database/query.ts';
import { callFunction } from './query.ts';

/** `since`: when the request was created, in words of the database. */
interface OpenStage {
  readonly id: string;
  readonly stage: number;
  readonly since?: string;
}

/** The stages that requests wait in. */
export function openStages(query: Query) {
  return {
    /** Stages that opened within the last minute and were not looked at when their request was created. */
    newStages: () =>
      query<OpenStage>(
        'new-stages',
        `SELECT id, stage FROM approvals.access_request
         WHERE status = 'pending' AND stage_opened_at > now() - interval '1 minute'
           AND (stage > 1 OR stages -> 0 ->> 'then' = 'escalate') ORDER BY stage_opened_at`,
      ),

    /** The open stages of at most `limit` pending requests, the oldest first, that follow `after`. */
    openStages: (after: Omit<OpenStage, 'stage'>, limit: number) =>
      query<OpenStage>(
        'open-stages',
        `SELECT id, stage, created_at::text AS since FROM approvals.access_request
         WHERE status = 'pending' AND (created_at, id) > ($1::timestamptz, $2) ORDER BY created_at, id LIMIT $3`,
        [after.since ?? '-infinity', after.id, limit],
      ),

    /** Gives up an open stage that no people can settle, with the reason. Null if it was over. */
    giveUpStage: (id: string, stage: number, why: string) =>
      callFunction<'escalated' | 'denied' | null>(query, 'give_up_stage', { id, stage, why }),
  };
}
