import type { Pool } from 'pg';
import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';

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
  const list = async (name: string, where: string, subject: string): Promise<Delegation[]> => {
    const text = `SELECT * FROM approvals.delegation WHERE ${where} ORDER BY created_at DESC LIMIT ${LIST_LIMIT}`;
    return (await pool.query<Row>({ name: `approvals-${name}`, text, values: [subject] })).rows.map(delegationFrom);
  };
  const outcome = async <Outcome extends string>(call: string, values: unknown[]) => {
    const { rows } = await pool.query<{ outcome: Outcome }>(`SELECT ${call} AS outcome`, values);
    return rows[0]?.outcome;
  };
  return {
    /** Those by which this person may speak for somebody now, by the database's clock. */
    activeTo: (delegate: string) =>
      list('active-to', 'delegate_subject = $1 AND revoked_at IS NULL AND until > clock_timestamp()', delegate),

    /** Those that this person has made, also what is over. */
    madeBy: (delegator: string) => list('made-by', 'delegator_subject = $1', delegator),

    /** `past`: the end is not in the future. At most 92 days: the database refuses what is longer. */
    add: ({ id, delegator, delegate, until }: Pick<Delegation, 'id' | 'delegator' | 'delegate' | 'until'>) => {
      const { issuer, subject, roles } = delegator;
      const row = { id, delegator_issuer: issuer, delegator_subject: subject, delegator_roles: roles };
      return outcome<'delegated' | 'past'>('approvals.delegate($1)', [
        JSON.stringify({ ...row, delegate_subject: delegate, until }),
      ]);
    },

    revoke: (id: string, delegator: string) =>
      outcome<'revoked' | 'not_found'>('approvals.revoke_delegation($1, $2)', [id, delegator]),
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
