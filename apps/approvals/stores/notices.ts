import type { AccessRequestStatus } from '../../../workflows/domain/access-request/access-request.ts';
import type { Query } from './query.ts';

/** What there is to tell of a request. Holds nothing that its call consists of, but the name of the tool. */
export interface Notice {
  /** Of the request. */
  readonly id: string;
  readonly event: 'opened' | 'escalated' | 'reminder' | 'ended';
  readonly tool: string;
  readonly template: string | undefined;
  /** Name and place (from 1) of the stage that was open. */
  readonly stage: string;
  readonly step: number;
  /** How the request ended; only where that is what is told. */
  readonly status: AccessRequestStatus | undefined;
  /** Which reminder of its stage it is, from 1. */
  readonly number: number;
  readonly at: string;
}

interface NoticeRow extends Omit<Notice, 'template' | 'status' | 'at'> {
  readonly template: string | null;
  readonly status: AccessRequestStatus;
  readonly at: Date;
}

/** What is to be told of requests. */
export function notices(query: Query) {
  return {
    /** Undefined when it was forgotten with its request. */
    async noticeOf(noticeId: string): Promise<Notice | undefined> {
      const [row] = await query<NoticeRow>(
        'notice',
        `SELECT r.id, n.event, r.tool, r.template, r.stages -> n.stage - 1 ->> 'name' AS stage, n.stage AS step, r.status,
           n.number, n.at
         FROM approvals.notice n JOIN approvals.access_request r ON r.id = n.access_request_id WHERE n.id = $1`,
        [noticeId],
      );
      if (row === undefined) return undefined;
      const { template, status, at, ...rest } = row;
      return {
        ...rest,
        template: template ?? undefined,
        status: row.event === 'ended' ? status : undefined,
        at: at.toISOString(),
      };
    },
  };
}
