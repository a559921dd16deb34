import type { Pool } from 'pg';
import { queryOf } from '../../shared/database/query.ts';
import { callFunction, camelCased, snakeCased } from './query.ts';

/** A passkey of an approver. Binary values are base64url texts; instants are RFC 3339. */
export interface Passkey {
  readonly id: string;
  readonly subject: string;
  readonly name: string;
  /** COSE key. */
  readonly publicKey: string;
  readonly transports: readonly string[];
  /** `multiDevice`: its owner's devices share it. */
  readonly deviceType: 'singleDevice' | 'multiDevice';
  readonly backedUp: boolean;
  readonly registeredAt: string;
  readonly lastUsedAt?: string;
  readonly revokedAt?: string;
  /** Subject of the person who removed it. Absent for a removed one: there is a copy of it. */
  readonly revokedBy?: string;
}

/** A verified registration. */
export interface NewPasskey extends Pick<
  Passkey,
  'id' | 'subject' | 'name' | 'publicKey' | 'transports' | 'deviceType' | 'backedUp'
> {
  readonly issuer: string;
  readonly counter: number;
  /** The value that was given out for it. */
  readonly nonce: string;
}

interface Challenge {
  readonly nonce: string;
  readonly subject: string;
  /** Absent: for a registration. */
  readonly accessRequestId?: string;
  readonly ttlMs: number;
}

const COLUMNS = `id, subject, name, public_key, transports, device_type, backed_up, registered_at, last_used_at, revoked_at,
  revoked_by`;

export type PasskeyStore = ReturnType<typeof createPasskeyStore>;

/** Passkeys, and the values that pages give out for them. Rows are never deleted, because votes refer to them. */
export function createPasskeyStore(pool: Pool) {
  const query = queryOf(pool, 'approvals');
  const read = async (name: string, condition: string, value: string) => {
    const text = `SELECT ${COLUMNS} FROM approvals.passkey WHERE ${condition} ORDER BY registered_at, id`;
    return (await query(name, text, [value])).map((row) => camelCased(row) as Passkey);
  };
  return {
    /** All of a person, with the removed ones, the oldest first. */
    ofPerson: (subject: string) => read('passkeys-of', 'subject = $1', subject),

    find: async (id: string): Promise<Passkey | undefined> => (await read('passkey', 'id = $1', id))[0],

    issueChallenge: (challenge: Challenge) =>
      callFunction<void>(query, 'issue_passkey_challenge', {
        access_request_id: undefined,
        ...snakeCased(challenge),
      }),

    /** `known`: this credential was registered before, and may have been removed. */
    register: (passkey: NewPasskey) =>
      callFunction<'registered' | 'challenge_over' | 'known' | 'too_many'>(
        query,
        'register_passkey',
        snakeCased(passkey),
      ),

    rename: (id: string, subject: string, name: string) =>
      callFunction<'renamed' | 'not_found'>(query, 'rename_passkey', { id, subject, name }),

    revoke: (id: string, { subject, by }: { readonly subject: string; readonly by: string }) =>
      callFunction<'revoked' | 'not_found'>(query, 'revoke_passkey', { id, subject, by }),
  };
}
