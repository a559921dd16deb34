import type { Pool } from 'pg';
import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { type Page, type PageRequest, readPage } from '../../shared/database/pages.ts';
import { type Query, queryOf } from '../../shared/database/query.ts';
import type { ArgumentScope } from '../grants/scope.ts';
import { type NewAccessRequest, type NewVote, voteRow } from './new-rows.ts';
import { callFunction, camelCased } from './query.ts';
import type { VoteOutcome } from './access-request.store.ts';

/** A person's approval in advance of calls like one that they approved. Instants are RFC 3339. */
export interface Grant extends ArgumentScope {
  readonly id: string;
  /** The request on which it was given. */
  readonly accessRequestId: string;
  /** With the roles they had when they gave it. */
  readonly giver: Approver;
  /** Names behind the giver then. None may have a part in a request that it covers. */
  readonly giverChain: readonly string[];
  readonly tool: string;
  readonly template?: string;
  readonly requesterSubject: string;
  readonly requesterClient: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly maxUses: number;
  readonly uses: number;
  readonly revokedAt?: string;
  readonly revokedBy?: string;
  /** Whether it ends when its giver signs out of the session in which they gave it. */
  readonly endsAtSignOut: boolean;
  /** By the database's clock, and by the session. */
  readonly isOver: boolean;
}

/** One request that a grant approved. `number` counts from 1. */
export interface GrantUse {
  readonly number: number;
  readonly accessRequestId: string;
  readonly at: string;
}

export interface NewGrant extends ArgumentScope {
  readonly id: string;
  readonly seconds: number;
  readonly uses: number;
  /** The session of its giver. */
  readonly sessionId: string;
}

const COLUMNS = `g.id, g.access_request_id, json_strip_nulls(json_build_object('issuer', g.giver_issuer, 'subject', g.giver_subject,
    'name', g.giver_name, 'roles', g.giver_roles, 'aliases', g.giver_names)) AS giver, g.giver_chain, g.tool, g.template, g.requester_subject, g.requester_client,
  g.shape, g.conditions, g.created_at, g.expires_at, g.max_uses, g.revoked_at, g.revoked_by,
  (SELECT count(*)::int FROM approvals.grant_use u WHERE u.grant_id = g.id) AS uses, g.ends_at_sign_out,
  g.expires_at <= clock_timestamp() OR (g.ends_at_sign_out AND NOT approvals.is_signed_in(g.giver_session)) AS is_over`;

/** Who reads grants: overseers read all, and others read their own. */
export interface GrantReader {
  readonly subject: string;
  readonly oversees: boolean;
}

const READABLE = '(g.giver_subject = $1 OR $2)';

export type GrantStore = ReturnType<typeof createGrantStore>;

/** An id from a URL may contain anything, even characters that a text column rejects. */
const ID = /^grn_[A-Za-z0-9_-]{1,64}$/;

/** Grants and their uses. `create` of the store of access requests uses them. */
export function createGrantStore(pool: Pool) {
  const query = queryOf(pool, 'approvals');
  return { ...changing(query), ...listing(query) };
}

function changing(query: Query) {
  return {
    /** Grants in force whose scope fits a new request, but for its arguments and the directory. The database checks again at the use. */
    async fitting({ clientId, template, tool, toolDigest, requester }: NewAccessRequest): Promise<Grant[]> {
      const text = `SELECT ${COLUMNS} FROM approvals."grant" g WHERE g.requester_subject = $1 AND g.tool = $2
        AND g.expires_at > clock_timestamp() AND g.revoked_at IS NULL AND g.requester_client = $3 AND g.client_id = $4
        AND g.template IS NOT DISTINCT FROM $5 AND g.tool_digest = $6
        AND (SELECT count(*) FROM approvals.grant_use u WHERE u.grant_id = g.id) < g.max_uses`;
      const values = [requester.subject, tool, requester.clientId, clientId, template, toolDigest];
      return (await query('fitting-grants', text, values)).map((row) => camelCased(row) as Grant);
    },

    /** Casts the vote and records the grant, or neither. `not_grantable`: policy allows no grant as large as this. */
    give: ({ id, seconds, uses, sessionId, shape, conditions: written }: NewGrant, vote: NewVote) => {
      const gift = { id, seconds, uses, session: sessionId, shape, conditions: JSON.stringify(written) };
      const parameters = { ...gift, ...voteRow(vote) };
      const { preview } = vote;
      return callFunction<VoteOutcome | 'not_grantable'>(query, 'give_grant', { ...parameters, preview });
    },

    revoke: (id: string, by: GrantReader) =>
      callFunction<'revoked' | 'not_found'>(query, 'revoke_grant', {
        id,
        by_subject: by.subject,
        oversees: by.oversees,
      }),
  };
}

function listing(query: Query) {
  return {
    async find(id: string, reader: GrantReader): Promise<Grant | undefined> {
      if (!ID.test(id)) return undefined;
      const text = `SELECT ${COLUMNS} FROM approvals."grant" g WHERE ${READABLE} AND g.id = $3`;
      const [row] = await query('grant', text, [reader.subject, reader.oversees, id]);
      return row && (camelCased(row) as Grant);
    },

    /** A page of the grants that the reader may read, newest first. */
    async list({ subject, oversees }: GrantReader, page: PageRequest): Promise<Page<Grant>> {
      const from = `FROM approvals."grant" g WHERE ${oversees ? '$1::text IS NOT NULL' : 'g.giver_subject = $1'}`;
      const sort = { at: 'g.created_at', id: 'g.id', order: 'newest' } as const;
      const name = oversees ? 'all-grants' : 'own-grants';
      const { rows, ...rest } = await readPage(
        query,
        { name, columns: COLUMNS, from, ...sort, values: [subject] },
        page,
      );
      return { ...rest, rows: rows.map((row) => camelCased(row) as Grant) };
    },

    /** A page of the uses of a grant, newest first. */
    async uses(id: string, page: PageRequest): Promise<Page<GrantUse>> {
      const from = 'FROM approvals.grant_use u WHERE u.grant_id = $1';
      const sort = { at: 'u.at', id: 'u.access_request_id', order: 'newest' } as const;
      const columns = 'u.number, u.access_request_id, u.at';
      const { rows, ...rest } = await readPage(
        query,
        { name: 'grant-uses', columns, from, ...sort, values: [id] },
        page,
      );
      return { ...rest, rows: rows.map((row) => camelCased(row) as GrantUse) };
    },
  };
}
