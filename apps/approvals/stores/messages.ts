import type { AccessRequestStatus } from '../../../workflows/domain/access-request/access-request.ts';
import type { Query } from '../../shared/database/query.ts';
import { callFunction, camelCased } from './query.ts';

/** An event of a request that people and bots are told. */
export interface Notice {
  readonly requestId: string;
  readonly event:
    | 'opened'
    | 'escalated'
    | 'reminder'
    | 'handed_over'
    | 'question_asked'
    | 'question_answered'
    | 'ended';
  /** Position of the stage that was open, from 1. */
  readonly stage: number;
  /** Number of the reminder or the hand-over in its stage, or of the question in its request, from 1. */
  readonly number: number;
  readonly at: string;
  /** How the request ended; for the event `ended` only. */
  readonly status?: AccessRequestStatus;
  /** Subjects of the people whom it asks to decide, or to answer. Absent until that is known. */
  readonly recipients?: readonly string[];
}

/** A message to one person, or to the room of a channel if `person` is empty. */
export interface Addressed {
  readonly person: string;
  readonly channel: string;
  readonly dueAt: Date;
}

/** A message that this process works on. */
export interface HeldMessage {
  /** Absent: it is the digest of its person. */
  readonly requestId?: string;
  readonly person: string;
  /** Whether it counts in the digest of its person, because there was no room for it. */
  readonly isGathered: boolean;
  /** Whether it may have been sent. */
  readonly hasBegun: boolean;
  /** What it said last. */
  readonly told?: string;
  /** Its id at the channel. */
  readonly externalId?: string;
}

/** The requests of one agent that a digest counts. */
export interface Gathered {
  /** The client, or a requester without one. */
  readonly agent: string;
  readonly isClient: boolean;
  readonly count: number;
  /** When the first of them ends, or its stage. */
  readonly firstEnd: string;
  /** The number of the one that was gathered last. */
  readonly latest: number;
  readonly templates: readonly string[];
}

/** Notices, and the messages that people get about them. */
export const messages = (query: Query) => ({ ...notices(query), ...heldMessages(query), ...rooms(query) });

function notices(query: Query) {
  return {
    /** Undefined when its request was deleted after the retention period. */
    async noticeOf(noticeId: string): Promise<Notice | undefined> {
      const [row] = await query(
        'notice',
        `SELECT n.access_request_id AS request_id, n.event, n.stage, n.number, n.at, a.recipients,
           CASE WHEN n.event = 'ended' THEN r.status END AS status
         FROM approvals.notice n JOIN approvals.access_request r ON r.id = n.access_request_id
           LEFT JOIN approvals.addressed_notice a ON a.notice_id = n.id WHERE n.id = $1`,
        [noticeId],
      );
      return row && (camelCased(row) as Notice);
    },

    /** Keeps whom a notice concerns, and queues its messages. A repetition changes nothing. */
    addressNotice: (
      noticeId: string,
      { recipients, signed, messages: to }: { recipients: readonly string[]; signed: boolean; messages: Addressed[] },
    ) =>
      callFunction(query, 'address_notice', {
        notice: noticeId,
        recipients,
        signed,
        messages: JSON.stringify(to.map(({ dueAt, ...one }) => ({ ...one, due_at: dueAt }))),
      }),

    /** The number of the last reminder in a stage; 0 without one. */
    async remindersIn(requestId: string, stage: number): Promise<number> {
      const [row] = await query<{ number: number }>(
        'reminders-in',
        `SELECT coalesce(max(number), 0) AS number FROM approvals.notice
         WHERE access_request_id = $1 AND stage = $2 AND event = 'reminder'`,
        [requestId, stage],
      );
      return row?.number ?? 0;
    },
  };
}

function heldMessages(query: Query) {
  return {
    /** Holds a message for this long. `held`: another process does. Undefined when its request was deleted. */
    async holdMessage(id: string, holdMs: number): Promise<HeldMessage | 'held' | undefined> {
      const [row] = await query(
        'hold-message',
        `UPDATE approvals.message SET held_until = clock_timestamp() + $2 * interval '1 ms'
         WHERE id = $1 AND (held_until > clock_timestamp()) IS NOT TRUE
         RETURNING access_request_id AS request_id, person, gathered IS NOT NULL AS is_gathered, begun_at IS NOT NULL AS has_begun,
           told, external_id`,
        [id, holdMs],
      );
      if (row !== undefined) return camelCased(row) as HeldMessage;
      const [other] = await query('message', 'SELECT FROM approvals.message WHERE id = $1', [id]);
      return other && 'held';
    },

    /** Called before the first attempt to send. */
    async beginMessage(id: string): Promise<void> {
      const text = 'UPDATE approvals.message SET begun_at = coalesce(begun_at, clock_timestamp()) WHERE id = $1';
      await query('begin-message', text, [id]);
    },

    async noteMessage(id: string, told: string, externalId: string | undefined): Promise<void> {
      const text = 'UPDATE approvals.message SET told = $2, external_id = coalesce($3, external_id) WHERE id = $1';
      await query('note-message', text, [id, told, externalId]);
    },

    async releaseMessage(id: string): Promise<void> {
      await query('release-message', 'UPDATE approvals.message SET held_until = NULL WHERE id = $1', [id]);
    },

    /** Has a message looked at again at that time. */
    async postponeMessage(id: string, channel: string, until: Date): Promise<void> {
      const text = 'INSERT INTO approvals.message_outbox (kind, subject_id, available_at) VALUES ($1, $2, $3)';
      await query('postpone-message', text, [channel, id, until]);
    },
  };
}

/** How much a person hears. @see admit_message.sql, admit_digest.sql */
function rooms(query: Query) {
  return {
    /** Whether a message that its person hears has room now. Otherwise, it counts in their digest if it asks something. */
    admitMessage: (id: string, key: string, asks: boolean) =>
      callFunction<boolean>(query, 'admit_message', { message: id, key, gathers: asks }),

    /** When a digest that its person hears has room. Undefined: now. `after`: up to which number the digest before has told. */
    async admitDigest(id: string, after: number): Promise<Date | undefined> {
      return (await callFunction<Date | null>(query, 'admit_digest', { message: id, after })) ?? undefined;
    },

    leaveDigest: (id: string) => callFunction<void>(query, 'leave_digest', { message: id }),

    scheduleDigest: (person: string, channel: string, at: Date) =>
      callFunction<void>(query, 'schedule_digest', { person, channel, at }),

    /** What the digest of a person in a channel counts, the agent with the most requests first. */
    async gatheredFor(person: string, channel: string): Promise<Gathered[]> {
      const rows = await query(
        'gathered-for',
        `SELECT coalesce(r.requester_client, r.requester_subject) AS agent, r.requester_client IS NOT NULL AS is_client, count(*)::int AS count,
           min(least(r.expires_at, r.stage_ends_at)) AS first_end, max(m.gathered)::float8 AS latest,
           coalesce(array_agg(DISTINCT r.template) FILTER (WHERE r.template IS NOT NULL), '{}') AS templates
         FROM approvals.message m JOIN approvals.access_request r ON r.id = m.access_request_id
         WHERE m.person = $1 AND m.channel = $2 AND m.gathered IS NOT NULL AND r.status = 'pending'
         GROUP BY 1, 2 ORDER BY count(*) DESC, 1, 2`,
        [person, channel],
      );
      return rows.map((row) => camelCased(row) as Gathered);
    },
  };
}
