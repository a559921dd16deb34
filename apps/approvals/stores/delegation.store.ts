import type { Pool } from 'pg';
import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { outcomeOf, queryOf } from './query.ts';

/** Somebody decides in another's place. Instants are RFC 3339. */
export interface Delegation {
  readonly id: string;
  /** With the roles they had when they delegated. */
  readonly delegator: Approver;
  readonly delegate: string;
  readonly createdAt: string;
  readonly until: string;
  readonly revokedAt?: string;
}

/** A delegation to be made. */
export interface NewDelegation extends Pick<Delegation, 'id' | 'delegator' | 'delegate' | 'until'> {
  /** What stands behind the delegator: the delegate decides nothing that one of these names asked for. */
  readonly chain: readonly string[];
}

interface Row {
  readonly id: string;
  readonly delegator_issuer: string;
  readonly delegator_subject: string;
  readonly delegator_roles: string[];
  readonly delegate_subject: string;
  readonly created_at: Date;
  readonly until: Date;
  readonly revoked_at: Date | null;
}

/** Longest list of one person's delegations; the latest come first. */
const LIST_LIMIT = 100;

export type DelegationStore = ReturnType<typeof createDelegationStore>;

/** Who stands in for whom. Rows stay for ever: votes refer to them. */
export function createDelegationStore(pool: Pool) {
  const query = queryOf(pool);
  const list = async (name: string, where: string, subject: string): Promise<Delegation[]> => {
    const text = `SELECT * FROM approvals.delegation WHERE ${where} ORDER BY created_at DESC LIMIT ${LIST_LIMIT}`;
    return (await query<Row>(name, text, [subject])).map(delegationFrom);
  };
  return {
    /** Those by which this person may speak for somebody now, by the database's clock. */
    activeTo: (delegate: string) =>
      list('active-to', 'delegate_subject = $1 AND revoked_at IS NULL AND until > clock_timestamp()', delegate),

    /** Those that this person has made, also what is over. */
    madeBy: (delegator: string) => list('made-by', 'delegator_subject = $1', delegator),

    /** `past`: the end is not in the future. At most 92 days: the database refuses what is longer. */
    add: ({ id, delegator, chain, delegate, until }: NewDelegation) => {
      const { issuer, subject, roles } = delegator;
      const row = { id, delegator_issuer: issuer, delegator_subject: subject, delegator_roles: roles };
      const values = [JSON.stringify({ ...row, delegator_chain: chain, delegate_subject: delegate, until })];
      return outcomeOf<'delegated' | 'past'>(query, { name: 'delegate', text: 'approvals.delegate($1)', values });
    },

    revoke: (id: string, delegator: string) =>
      outcomeOf<'revoked' | 'not_found'>(query, {
        name: 'revoke-delegation',
        text: 'approvals.revoke_delegation($1, $2)',
        values: [id, delegator],
      }),
  };
}

function delegationFrom(row: Row): Delegation {
  return {
    id: row.id,
    delegator: { issuer: row.delegator_issuer, subject: row.delegator_subject, roles: row.delegator_roles },
    delegate: row.delegate_subject,
    createdAt: row.created_at.toISOString(),
    until: row.until.toISOString(),
    ...(row.revoked_at !== null && { revokedAt: row.revoked_at.toISOString() }),
  };
}
