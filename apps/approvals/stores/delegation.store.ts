import type { Pool } from 'pg';
import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';
import type { Ineligibility } from '../../../workflows/domain/access-request/eligibility.ts';
import { keysOf } from '../../../workflows/domain/access-request/same-person.ts';
import { type Page, type PageRequest, readPage } from '../../shared/database/pages.ts';
import { queryOf } from '../../shared/database/query.ts';
import { callFunction, camelCased, snakeCased } from './query.ts';

/** A delegate decides in place of the delegator: all requests, or one that was handed over. Instants are RFC 3339. */
export interface Delegation {
  readonly id: string;
  /** With the roles they had when they delegated. */
  readonly delegator: Approver;
  readonly delegate: string;
  readonly createdAt: string;
  readonly until: string;
  readonly revokedAt?: string;
  /** The only request for which it holds. Absent: all. */
  readonly accessRequestId?: string;
}

export interface NewDelegation extends Pick<Delegation, 'id' | 'delegator' | 'delegate' | 'until'> {
  /** Names behind the delegator. The delegate cannot decide a request of one of them. */
  readonly chain: readonly string[];
  /** Other names of the delegate, as far as they are known. */
  readonly delegateAliases?: readonly string[];
}

/** A request that an approver hands to another person. */
export interface NewHandOver extends Omit<NewDelegation, 'until'> {
  readonly requestId: string;
  /** The stage that the approver looked at, and the one for which they were checked as eligible. */
  readonly stage: number;
  readonly judgedStage: number;
  /** One more than the hand-overs of this request that the approver saw of their own. */
  readonly number: number;
}

export type HandOverOutcome =
  | 'handed_over'
  | 'repeated'
  | 'handed_before'
  | 'delegate_voted'
  | 'delegate_has_part'
  | 'to_oneself'
  | 'already_voted'
  | 'final'
  | 'stage_over'
  | Ineligibility
  | 'not_found';

const COLUMNS = `id, json_build_object('issuer', delegator_issuer, 'subject', delegator_subject, 'roles', delegator_roles,
    'aliases', delegator_names) AS delegator,
  delegate_subject AS delegate, created_at, until, revoked_at, access_request_id`;

// By the database's clock, which votes are checked with too; Prisma's client could compare only with that of this process.
const ACTIVE = 'revoked_at IS NULL AND until > clock_timestamp()';
/** A hand-over is over with its request. Only lists heed that: those who got it may read the request until its time is over. */
const IN_USE = `${ACTIVE} AND (access_request_id IS NULL
  OR EXISTS (SELECT FROM approvals.access_request r WHERE r.id = access_request_id AND r.status = 'pending'))`;
/** Lists of one person's delegations: active ones they made, past ones they made, and active ones they received. */
const LISTS = {
  made: `delegator_subject = $1 AND ${IN_USE}`,
  over: `delegator_subject = $1 AND NOT (${IN_USE})`,
  received: `delegate_subject = $1 AND ${IN_USE}`,
} as const;
export type DelegationList = keyof typeof LISTS;

export type DelegationStore = ReturnType<typeof createDelegationStore>;

/** Delegations. Their rows are not deleted, because votes refer to them; a hand-over goes with its request. */
export function createDelegationStore(pool: Pool) {
  const query = queryOf(pool, 'approvals');
  return {
    /** All active delegations to this person. The caller cannot use one that is missing here. */
    async activeTo(delegate: string): Promise<Delegation[]> {
      const text = `SELECT ${COLUMNS} FROM approvals.delegation WHERE delegate_subject = $1 AND ${ACTIVE} ORDER BY created_at DESC, id DESC`;
      return (await query('active-to', text, [delegate])).map((row) => camelCased(row) as Delegation);
    },

    /** Active delegations by any of these people that hold for this request. */
    async activeFrom(
      subjects: readonly string[],
      requestId: string,
    ): Promise<{ readonly delegator: string; readonly delegate: string }[]> {
      const text = `SELECT delegator_subject AS delegator, delegate_subject AS delegate FROM approvals.delegation
        WHERE delegator_subject = ANY ($1) AND ${ACTIVE} AND coalesce(access_request_id, $2) = $2`;
      return query('active-from', text, [subjects, requestId]);
    },

    /** A page of one of this person's lists, newest first. */
    async list(which: DelegationList, subject: string, page: PageRequest): Promise<Page<Delegation>> {
      const from = `FROM approvals.delegation WHERE ${LISTS[which]}`;
      const sort = { at: 'created_at', id: 'id', order: 'newest' } as const;
      const listing = { name: `delegations-${which}`, columns: COLUMNS, from, ...sort, values: [subject] };
      const { rows, ...rest } = await readPage(query, listing, page);
      return { ...rest, rows: rows.map((row) => camelCased(row) as Delegation) };
    },

    /** `past`: the end is not in the future. `to_oneself`: both are one person. The database refuses a delegation for more than 92 days. */
    add: ({ id, until, ...people }: NewDelegation) =>
      callFunction<'delegated' | 'past' | 'to_oneself'>(query, 'delegate', { id, until, ...peopleIn(people) }),

    handOver: ({ delegator, chain, delegate, delegateAliases, ...rest }: NewHandOver) => {
      const people = peopleIn({ delegator, chain, delegate, ...(delegateAliases && { delegateAliases }) });
      return callFunction<HandOverOutcome>(query, 'hand_over', { ...snakeCased(rest), ...people });
    },

    revoke: (id: string, delegator: string) =>
      callFunction<'revoked' | 'not_found'>(query, 'revoke_delegation', { id, delegator }),
  };
}

const peopleIn = ({ delegator, chain, delegate, delegateAliases = [] }: Omit<NewDelegation, 'id' | 'until'>) => ({
  delegator_issuer: delegator.issuer,
  delegator_subject: delegator.subject,
  delegator_roles: delegator.roles,
  delegator_chain: keysOf(chain),
  delegator_names: keysOf([delegator.subject, ...(delegator.aliases ?? [])]),
  delegate_subject: delegate,
  delegate_names: keysOf([delegate, ...delegateAliases]),
});
