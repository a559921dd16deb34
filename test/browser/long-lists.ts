import { randomUUID } from 'node:crypto';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { aStage, newAccessRequest } from '../support/access-requests.ts';
import type { ApprovalsUnderTest } from '../support/approvals.ts';

/** A list of the inbox, as alice reads it. */
export interface List {
  readonly name: string;
  readonly path: string;
  /** The member of the answer with the rows, and the member that identifies a row. */
  readonly member: string;
  readonly id: string;
  /** The middle part of its cursor names. */
  readonly cursor: string;
  /** Reads the whole list in order: ids, and the text that a page shows for each. */
  readonly sql: string;
  /** Where that text is on a page: an address, or a text. */
  readonly shown: { readonly rows: string; readonly attribute?: string };
  /** Selects the links to other pages. */
  readonly links: string;
  /** Adds a row. */
  add(): Promise<unknown>;
  /** Removes a row. */
  end?(id: string): Promise<unknown>;
}

/** This many rows for each instant, or fewer, as after an outage, so that each page ends between some of one instant. */
const AT_ONCE = 5;

/** All lists of the inbox, and how each is filled. */
export function longLists(service: ApprovalsUnderTest) {
  const sql = (text: string, values: unknown[] = []) =>
    service.database.pool.query<{ id: string; shown: string }>(text, values);
  const open = async () => {
    // No two are of one kind, so each has a row of its own.
    const tool = `tool-${randomUUID()}`;
    const request = newAccessRequest({ tool, stages: [aStage({ approvers: { people: ['alice'] } })] });
    await createAccessRequestStore(service.database.pool).create(request);
    return request.id;
  };
  /** A request of alice, which others decide. */
  const openOwn = async () => {
    const requester = { issuer: service.config.urls.issuer, subject: 'alice', clientId: 'host' };
    const tool = `tool-${randomUUID()}`;
    const request = newAccessRequest({ tool, requester, stages: [aStage({ approvers: { people: ['bob'] } })] });
    await createAccessRequestStore(service.database.pool).create(request);
    return request.id;
  };
  const end = (id: string) => sql(`SELECT approvals.cancel_access_request($1, NULL, '{}')`, [id]);
  const grant = (ids: readonly string[]) =>
    sql(
      `INSERT INTO approvals.break_glass (access_request_id, issuer, granted_by, reason, call_digest, via)
       SELECT unnest($1::text[]), 'i', 'sam', 'x', 'x', 'api'`,
      [ids],
    );
  const ask = (ids: readonly string[]) =>
    sql(
      `INSERT INTO approvals.requester_question (access_request_id, number, stage, by_issuer, by_subject, question, via, at)
       SELECT unnest($1::text[]), 1, 1, 'i', 'sam', 'Why?', 'api', clock_timestamp()`,
      [ids],
    );
  const answer = (id: string) =>
    sql(`INSERT INTO approvals.requester_answer (access_request_id, number, answer, at) VALUES ($1, 1, 'So.', now())`, [
      id,
    ]);
  const review = (id: string) =>
    sql(`UPDATE approvals.break_glass SET reviewed_by = 'bob', reviewed_at = now() WHERE access_request_id = $1`, [id]);
  const delegate = (from: string, to: string, isOver = false) =>
    sql(
      `INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegate_subject, created_at,
         until, revoked_at)
       VALUES ('dlg_' || gen_random_uuid(), 'i', $1, '{}', $2, clock_timestamp(), clock_timestamp() + interval '1 day',
         CASE WHEN $3 THEN now() END)`,
      [from, to, isOver],
    );
  const revoke = (id: string) => sql('UPDATE approvals.delegation SET revoked_at = now() WHERE id = $1', [id]);

  /** Bypasses the triggers that forbid later changes. */
  const moveTogether = (rows: number, table: string, column: string, id: string) =>
    sql(`ALTER TABLE approvals.${table} DISABLE TRIGGER USER;
      UPDATE approvals.${table} SET ${column} = now() + (hashtext(${id}) % ${rows / AT_ONCE}) * interval '1 us' WHERE ${column} IS NOT NULL;
      ALTER TABLE approvals.${table} ENABLE TRIGGER USER`);

  async function fill(rows: number): Promise<void> {
    const ids = await Promise.all(Array.from({ length: 2 * rows }, open));
    const ended = ids.slice(0, rows);
    await sql(`SELECT approvals.cancel_access_request(id, NULL, '{}') FROM unnest($1::text[]) AS id`, [ended]);
    await grant(ended);
    await sql(
      `INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegate_subject, created_at,
         until, revoked_at)
       SELECT 'dlg_' || gen_random_uuid(), 'i', CASE list WHEN 'received' THEN 'x' || n ELSE 'alice' END, '{}',
         CASE list WHEN 'received' THEN 'alice' ELSE 'x' || n END, clock_timestamp(), clock_timestamp() + interval '1 day',
         CASE list WHEN 'over' THEN now() END
       FROM generate_series(1, $1) AS n, unnest(ARRAY['made', 'received', 'over']) AS list`,
      [rows],
    );
    // The lists of all open requests have these too, and end some of them.
    await ask(await Promise.all(Array.from({ length: rows + 40 }, openOwn)));
    await moveTogether(rows, 'requester_question', 'at', 'access_request_id');
    await moveTogether(rows, 'access_request', 'created_at', 'id');
    await moveTogether(rows, 'access_request', 'ended_at', 'id');
    await moveTogether(rows, 'break_glass', 'at', 'access_request_id');
    await moveTogether(rows, 'delegation', 'created_at', 'id');
  }

  const read = (table: string, shown: string, rest: string) =>
    `SELECT *, ${shown} AS shown FROM approvals.${table} WHERE ${rest}`;
  const ofRequests = {
    ...{ member: 'requests', id: 'id', cursor: '', links: 'nav[aria-label="Pages of requests"]' },
    shown: { rows: 'ul.rows > li[data-request]', attribute: 'data-request' },
  } as const;
  const requests = (rest: string) => ({ ...ofRequests, sql: read('access_request', 'id', rest) });
  const pending = { ...requests("status = 'pending' ORDER BY created_at, id"), add: open, end };
  const delegations = { path: '/delegations', id: 'id', end: revoke } as const;
  const newest = 'ORDER BY created_at DESC, id DESC';
  const lists: List[] = [
    { ...pending, name: 'open requests', path: '/requests' },
    {
      ...pending,
      ...requests("status = 'pending' AND requester_subject IS DISTINCT FROM 'alice' ORDER BY created_at, id"),
      ...{ name: 'requests to decide', path: '/requests?status=yours' },
    },
    {
      ...pending,
      ...requests("status = 'pending' ORDER BY created_at DESC, id DESC"),
      ...{ name: 'open requests, the newest first', path: '/requests?order=newest' },
    },
    {
      ...requests("status <> 'pending' ORDER BY ended_at DESC, id DESC"),
      ...{ name: 'ended requests', path: '/requests?status=ended', add: async () => end(await open()) },
    },
    {
      ...{ name: 'emergency grants to review', path: '/requests?status=denied', member: 'unreviewed', id: 'requestId' },
      ...{ cursor: 'Unreviewed', links: 'nav[aria-label="Pages of emergency grants"]' },
      shown: { rows: '[aria-labelledby=unreviewed] li a', attribute: 'href' },
      sql: `SELECT access_request_id AS id, '/requests/' || access_request_id AS shown FROM approvals.break_glass
        WHERE reviewed_at IS NULL ORDER BY at, access_request_id`,
      ...{ add: async () => grant([await open()]), end: review },
    },
    {
      ...{ name: 'requests with questions', path: '/requests?status=denied', member: 'questions', id: 'id' },
      ...{ cursor: 'Questions', links: 'nav[aria-label="Pages of questions"]' },
      shown: { rows: '[aria-labelledby=questions-to-you] li a', attribute: 'href' },
      sql: `SELECT q.access_request_id AS id, '/requests/' || q.access_request_id || '#questions' AS shown
        FROM approvals.requester_question q LEFT JOIN approvals.requester_answer a USING (access_request_id, number)
        JOIN approvals.access_request r ON r.id = q.access_request_id AND r.status = 'pending'
        WHERE a.number IS NULL ORDER BY q.at, q.access_request_id`,
      ...{ add: async () => ask([await openOwn()]), end: answer },
    },
    {
      ...{
        ...delegations,
        name: 'delegations made',
        member: 'made',
        cursor: 'Made',
        links: '[aria-labelledby=made] nav',
      },
      shown: { rows: '[aria-labelledby=made] form.inline strong' },
      sql: read('delegation', 'delegate_subject', `delegator_subject = 'alice' AND revoked_at IS NULL ${newest}`),
      add: () => delegate('alice', 'new'),
    },
    {
      ...{ ...delegations, name: 'delegations received', member: 'received', cursor: 'Received' },
      ...{ links: '[aria-labelledby=received] nav', shown: { rows: '[aria-labelledby=received] li strong' } },
      sql: read('delegation', 'delegator_subject', `delegate_subject = 'alice' AND revoked_at IS NULL ${newest}`),
      add: () => delegate('new', 'alice'),
    },
    {
      ...{ path: '/delegations', id: 'id', name: 'delegations that are over', member: 'over', cursor: 'Over' },
      ...{ links: '[aria-labelledby=over] nav', shown: { rows: '[aria-labelledby=over] li > bdi' } },
      sql: read('delegation', 'delegate_subject', `delegator_subject = 'alice' AND revoked_at IS NOT NULL ${newest}`),
      add: () => delegate('alice', 'new', true),
    },
  ];
  return { lists, fill, all: async (list: List) => (await sql(list.sql)).rows };
}
