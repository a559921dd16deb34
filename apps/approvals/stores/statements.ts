import type {
  AccessRequestStatus,
  Verdict,
  VoteChannel,
} from '../../../workflows/domain/access-request/access-request.ts';
import type { Stage } from '../../../workflows/domain/access-request/stages.ts';
import type { EndNote } from './new-rows.ts';
import { atInUtc, type Query } from './query.ts';

/** A person in a statement. */
interface Person {
  readonly issuer?: string;
  readonly subject: string;
  /** Their display name at that time. */
  readonly name?: string;
}

/** Who resolved a request and how, for the enforcement point that submitted it. */
export interface Statement {
  readonly id: string;
  readonly status: AccessRequestStatus;
  readonly template?: string;
  readonly stages: readonly { readonly name: string; readonly quorum: number }[];
  readonly votes: readonly {
    readonly approver: Person;
    readonly cast_by?: Person;
    /** Subjects that acted for them, from the `act` chain of their token, the last first. */
    readonly actors?: readonly string[];
    readonly verdict: Verdict;
    readonly reason?: string;
    readonly via: VoteChannel;
    readonly stage: number;
    /** It no longer counted when the stage was settled. */
    readonly lapsed?: true;
    readonly at: string;
  }[];
  readonly break_glass?: { readonly by: Person; readonly reason: string; readonly via: string; readonly at: string };
  readonly cancelled?: {
    readonly by: Person | { readonly client: string };
    readonly reason?: string;
    readonly via?: string;
    readonly at?: string;
  };
}

interface Row extends Pick<Statement, 'id' | 'status' | 'votes' | 'break_glass'> {
  readonly template: string | null;
  readonly stages: readonly Stage[];
  readonly end_note: EndNote | null;
  readonly ended_at: Date | null;
}

// Null members (no name known, no reason given) are left out.
const SELECT = `
  SELECT r.id, r.status, r.template, r.stages, r.end_note, r.ended_at,
    (SELECT coalesce(json_agg(json_strip_nulls(json_build_object(
        'approver', json_build_object('issuer', v.approver_issuer, 'subject', v.approver_subject, 'name', v.approver_name),
        'cast_by', CASE WHEN v.delegation_id IS NOT NULL
          THEN json_build_object('issuer', v.approver_issuer, 'subject', v.cast_by, 'name', v.cast_by_name) END,
        'actors', CASE WHEN v.actors <> '{}' THEN v.actors END,
        'verdict', v.verdict, 'reason', v.reason, 'via', v.via, 'stage', v.stage,
        'lapsed', CASE WHEN l.approver_subject IS NOT NULL THEN true END, 'at', v.at)) ORDER BY v.at), '[]')
      FROM approvals.vote v LEFT JOIN approvals.lapsed_approval l USING (access_request_id, stage, approver_subject)
      WHERE v.access_request_id = r.id) AS votes,
    (SELECT json_strip_nulls(json_build_object('by', json_build_object('issuer', b.issuer, 'subject', b.granted_by,
        'name', b.granted_by_name), 'reason', b.reason, 'via', b.via, 'at', b.at))
      FROM approvals.break_glass b WHERE b.access_request_id = r.id) AS break_glass
  FROM approvals.access_request r WHERE r.id = ANY ($1) ORDER BY array_position($1, r.id)`;

export function statements(query: Query) {
  return {
    /** One statement for each request, in the order of `ids`. */
    statementsOf: async (ids: readonly string[]): Promise<readonly Statement[]> =>
      (await query<Row>('statements', SELECT, [ids])).map(statementFrom),
  };
}

function statementFrom(found: Row): Statement {
  const { template, stages, end_note: note, ended_at: endedAt, votes, break_glass: broken, ...row } = found;
  return {
    ...row,
    ...(template !== null && { template }),
    stages: stages.map(({ name, quorum }) => ({ name, quorum })),
    votes: votes.map(atInUtc),
    ...(broken && { break_glass: atInUtc(broken) }),
    ...(note && { cancelled: cancelledFrom(note, endedAt) }),
  };
}

function cancelledFrom(
  { by, via, reason, comment }: EndNote,
  endedAt: Date | null,
): NonNullable<Statement['cancelled']> {
  const said = comment ?? reason;
  return {
    by,
    ...(said !== undefined && { reason: said }),
    ...(via && { via }),
    ...(endedAt && { at: endedAt.toISOString() }),
  };
}
