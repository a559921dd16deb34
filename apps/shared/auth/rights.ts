import type { Pool, PoolClient } from 'pg';
import { asUnavailable } from '../../../workflows/domain/errors.ts';
import { withPooled } from '../database/client.ts';
import { Refusal } from '../http/csrf.ts';
import type { Issuer } from './issuer.ts';
import type { Logout } from './logout-token.ts';
import { askAgain, proofSchema, type Answer } from './proof.ts';
import { createSealer } from './sign-in-attempts.ts';

export interface RightsOptions {
  /** Connections of `rights` are held while the issuer is asked, so reads that need no answer of it use `sessions`. */
  readonly pools: { readonly sessions: Pool; readonly rights: Pool };
  /** Schema of the table `session`. It becomes part of statements, so it is never input. */
  readonly schema: 'approvals' | 'audit';
  readonly secret: string;
  readonly rolesClaim: string;
  /** How long an answer of the issuer is valid. */
  readonly recheckSeconds: number;
  /** How long a session, and its sealed tokens, last. */
  readonly sessionSeconds: number;
  readonly issuer: Issuer;
}

interface Row {
  readonly roles: string[];
  readonly proof: string | null;
  readonly fresh: boolean | null;
}

export type Rights = ReturnType<typeof createRights>;

/**
 * Current roles of signed-in people, as their issuer states them. The answer is stored with the session, for all replicas, and used for
 * `recheckSeconds`. After that, the application shows and decides nothing before it has asked the issuer again.
 */
export function createRights(options: RightsOptions) {
  const { pools, schema, secret, rolesClaim, recheckSeconds, sessionSeconds, issuer } = options;
  const { sessions } = pools;
  const sealer = createSealer({ secret, purpose: `proof ${schema}` }, proofSchema);
  const table = `${schema}.session`;
  // By the database's clock, which all replicas share. Prisma's client could neither compare with it nor take the row's lock.
  const select = `SELECT roles, proof, asked_at > clock_timestamp() - make_interval(secs => $2) AS fresh
    FROM ${table} WHERE sid = $1`;
  const read = async (client: Pool | PoolClient, sessionId: string, lock = '') =>
    (await client.query<Row>(`${select} ${lock}`, [sessionId, recheckSeconds])).rows[0];
  const write = async (client: Pool | PoolClient, sessionId: string, { roles, proof }: Answer) => {
    const sealed = await sealer.seal(proof, sessionSeconds);
    await client.query(
      `UPDATE ${table} SET roles = $2, proof = $3, asked_at = transaction_timestamp() WHERE sid = $1`,
      [sessionId, roles, sealed],
    );
  };
  /** One request at a time, also across replicas: an issuer may revoke all refresh tokens when one is used twice. */
  const recheck = (sessionId: string, subject: string) =>
    inTransaction(pools.rights, async (client) => {
      const row = await read(client, sessionId, 'FOR UPDATE');
      if (row === undefined || row.fresh === true) return row?.roles;
      const proof = row.proof === null ? undefined : await sealer.open(row.proof);
      const answer = proof && (await askAgain({ proof, subject, rolesClaim }, issuer));
      if (answer !== undefined) await write(client, sessionId, answer);
      return answer?.roles;
    });
  return {
    /** Stores the issuer's answer at the sign-in, with a session that was just stored. */
    keep: (sessionId: string, answer: Answer) => unavailable(write(sessions, sessionId, answer)),

    /**
     * Roles of the session's person, at most `recheckSeconds` old. Undefined when the session has ended, here or at the
     * issuer. Throws a `Refusal` (503) when the issuer does not answer, and `ERR_DATABASE_UNAVAILABLE`.
     */
    now: (sessionId: string, subject: string): Promise<readonly string[] | undefined> =>
      unavailable(
        read(sessions, sessionId).then((row) => (row?.fresh === true ? row.roles : row && recheck(sessionId, subject))),
      ),

    /** The ID token that names the session to the issuer at the sign-out. */
    async idToken(sessionId: string): Promise<string | undefined> {
      const row = await unavailable(read(sessions, sessionId));
      return typeof row?.proof === 'string' ? (await sealer.open(row.proof))?.idToken : undefined;
    },

    end: (logout: Logout) => unavailable(endSessions(sessions, table, logout)),
  };
}

/**
 * Ends the sessions that a logout token names: those of a person, or the one that the issuer knows by `sid`. A session that began
 * after the token was issued goes on, so a replayed token ends nothing. Returns how many sessions ended.
 */
async function endSessions(pool: Pool, table: string, { subject, sid, issuedAt }: Logout): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM ${table} WHERE (sess->'person'->>'issuedAt')::numeric <= $3::numeric
       AND ($1::text IS NULL OR sess->'person'->>'subject' = $1) AND ($2::text IS NULL OR sess->'person'->>'sid' = $2)
       AND ($1::text IS NOT NULL OR $2::text IS NOT NULL)`,
    [subject ?? null, sid ?? null, issuedAt],
  );
  return rowCount ?? 0;
}

async function inTransaction<Done>(pool: Pool, work: (client: PoolClient) => Promise<Done>): Promise<Done> {
  const outcome = await withPooled(pool, async (client) => {
    await client.query('BEGIN');
    try {
      const done = await work(client);
      await client.query('COMMIT');
      return { done };
    } catch (error) {
      // When this fails, too, the end of the connection rolls back.
      await client.query('ROLLBACK');
      return { error };
    }
  });
  if ('error' in outcome) throw outcome.error;
  return outcome.done;
}

const unavailable = <Done>(work: Promise<Done>): Promise<Done> =>
  work.catch((error: unknown) => {
    throw error instanceof Refusal ? error : asUnavailable(error);
  });
