import type { Pool } from 'pg';
import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { type Page, type PageRequest, readPage } from '../../shared/database/pages.ts';
import { queryOf } from '../../shared/database/query.ts';
import { callFunction, camelCased } from './query.ts';

/** A delegate decides in place of the delegator. Instants are RFC 3339. */
export interface Delegation {
  readonly id: string;
  /** With the roles they had when they delegated. */
  readonly delegator: Approver;
  readonly delegate: string;
  readonly createdAt: string;
  readonly until: string;
  readonly revokedAt?: string;
}

export interface NewDelegation extends Pick<Delegation, 'id' | 'delegator' | 'delegate' | 'until'> {
  /** Subjects behind the delegator. The delegate cannot decide a request of one of them. */
  readonly chain: readonly string[];
}

const COLUMNS = `id, json_build_object('issuer', delegator_issuer, 'subject', delegator_subject, 'roles', delegator_roles) AS delegator,
  delegate_subject AS delegate, created_at, until, revoked_at`;

// By the database's clock, which votes are checked with too; Prisma's client could compare only with that of this process.
const ACTIVE = 'revoked_at IS NULL AND until > clock_timestamp()';
/** Lists of one person's delegations: active ones they made, past ones they made, and active ones they received. */
const LISTS = {
  made: `delegator_subject = $1 AND ${ACTIVE}`,
  over: `delegator_subject = $1 AND NOT (${ACTIVE})`,
  received: `delegate_subject = $1 AND ${ACTIVE}`,
} as const;
export type DelegationList = keyof typeof LISTS;

export type DelegationStore = ReturnType<typeof createDelegationStore>;

/** Delegations. Their rows are never deleted, because votes refer to them. */
export function createDelegationStore(pool: Pool) {
  const query = queryOf(pool, 'approvals');
  return {
    /** All active delegations to this person. The caller cannot use one that is missing here. */
    async activeTo(delegate: string): Promise<Delegation[]> {
      const text = `SELECT ${COLUMNS} FROM approvals.delegation WHERE ${LISTS.received} ORDER BY created_at DESC, id DESC`;
      return (await query('active-to', text, [delegate])).map((row) => camelCased(row) as Delegation);
    },

    /** Active delegations by any of these people. */
    async activeFrom(
      subjects: readonly string[],
    ): Promise<{ readonly delegator: string; readonly delegate: string }[]> {
      const text = `SELECT delegator_subject AS delegator, delegate_subject AS delegate FROM approvals.delegation
        WHERE delegator_subject = ANY ($1) AND ${ACTIVE}`;
      return query('active-from', text, [subjects]);
    },

    /** A page of one of this person's lists, newest first. */
    async list(which: DelegationList, subject: string, page: PageRequest): Promise<Page<Delegation>> {
      const from = `FROM approvals.delegation WHERE ${LISTS[which]}`;
      const sort = { at: 'created_at', id: 'id', order: 'newest' } as const;
      const listing = { name: `delegations-${which}`, columns: COLUMNS, from, ...sort, values: [subject] };
      const { rows, ...rest } = await readPage(query, listing, page);
      return { ...rest, rows: rows.map((row) => camelCased(row) as Delegation) };
    },

    /** `past`: the end is not in the future. The database refuses a delegation for more than 92 days. */
    add: ({ id, delegator, chain, delegate, until }: NewDelegation) => {
      const { issuer, subject, roles } = delegator;
      return callFunction<'delegated' | 'past'>(query, 'delegate', {
        id,
        delegator_issuer: issuer,
        delegator_subject: subject,
        delegator_roles: roles,
        delegator_chain: chain,
        delegate_subject: delegate,
        until,
      });
    },

    revoke: (id: string, delegator: string) =>
      callFunction<'revoked' | 'not_found'>(query, 'revoke_delegation', { id, delegator }),
  };
}
