import type { Pool } from 'pg';
import { errorCode } from '../../shared/error-code.ts';
import { boundParts } from '../../../workflows/domain/authzen/denial-binding.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { asUnavailable } from '../../../workflows/domain/database-unavailable.ts';
import type { BoundDenial, SignedDenial } from '../binding-token.ts';
import { together } from './together.ts';

/** Where requestable denials are put on record before they are answered. */
export interface EvaluationStore {
  /** Throws when the row is not durable; the denial may then not be offered for a request (ARAP-DEN-08). */
  record(denial: BoundDenial): Promise<void>;
  /** The denial of this evaluation; undefined when there is none. Throws `ERR_DATABASE_UNAVAILABLE` for trouble that passes. */
  find(evaluationId: string): Promise<SignedDenial | undefined>;
  /** Forgets denials older than `keepMs`, at most so many at a time, and none that can still be answered. Answers how many. */
  forget(keepMs: number, limit: number): Promise<number>;
}

interface EvaluationRow extends Pick<EvaluationRequest, 'subject' | 'action' | 'resource'> {
  readonly token_id: string;
  readonly requester: string;
  readonly binding_context_members: string[];
  readonly binding_hash: string;
  readonly template: string;
  readonly reason: string;
  readonly policies: string[];
  readonly evaluated_at: Date;
  readonly expires_at: Date;
}

const SELECT = `
  SELECT token_id, requester, subject, action, resource, binding_context_members, binding_hash, template, reason, policies, evaluated_at,
    expires_at
  FROM pdp.evaluation WHERE evaluation_id = $1`;

const INSERT = `
  INSERT INTO pdp.evaluation (evaluation_id, token_id, requester, subject, action, resource,
    binding_context_members, binding_hash, template, reason, policies, policy_version, evaluated_at, expires_at)
  SELECT * FROM json_to_recordset($1) AS denial (evaluation_id text, token_id uuid, requester text, subject jsonb, action jsonb,
    resource jsonb, binding_context_members text[], binding_hash text, template text, reason text, policies text[],
    policy_version text, evaluated_at timestamptz, expires_at timestamptz)`;

/** Errors of class 22 and 23 are those of data and of constraints: one of several may be at fault. */
const TOGETHER = { atWork: 2, most: 32, isFaultOfOne: (error: unknown) => /^2[23]/.test(errorCode(error) ?? '') };

export function createEvaluationStore(pool: Pool): EvaluationStore {
  const insert = async (denials: readonly BoundDenial[]) => {
    await pool.query({
      name: 'pdp-record-evaluations',
      text: INSERT,
      values: [JSON.stringify(denials.map(rowOf))],
    });
  };
  return {
    record: together(insert, TOGETHER),

    async find(evaluationId) {
      // What comes out of an address may hold anything, even what no text column can.
      if (!/^[\w-]{1,64}$/.test(evaluationId)) return undefined;
      const query = { name: 'pdp-find-evaluation', text: SELECT, values: [evaluationId] };
      const { rows } = await pool.query<EvaluationRow>(query).catch((error: unknown) => {
        throw asUnavailable(error);
      });
      const [row] = rows;
      return row && denialFrom(evaluationId, row);
    },

    async forget(keepMs, limit) {
      const text = 'SELECT pdp.forget_evaluations($1, $2) AS count';
      const { rows } = await pool.query<{ count: number }>({ name: 'pdp-forget', text, values: [keepMs, limit] });
      return rows[0]?.count ?? 0;
    },
  };
}

/** The names of the columns of `INSERT`. */
const rowOf = ({ request, offer, ...denial }: BoundDenial) => ({
  evaluation_id: denial.evaluationId,
  token_id: denial.tokenId,
  requester: denial.requester,
  subject: request.subject,
  action: request.action,
  resource: request.resource,
  binding_context_members: denial.members,
  binding_hash: denial.bindingHash,
  template: offer.template,
  reason: offer.reason,
  policies: offer.policies,
  policy_version: denial.policyVersion,
  evaluated_at: denial.evaluatedAt,
  expires_at: denial.expiresAt,
});

function denialFrom(evaluationId: string, row: EvaluationRow): SignedDenial {
  const { template, reason, policies } = row;
  const { context: _none, ...inline } = boundParts({ ...row, context: {} }, []);
  return {
    evaluationId,
    tokenId: row.token_id,
    requester: row.requester,
    members: row.binding_context_members,
    bindingHash: row.binding_hash,
    inline,
    offer: { kind: 'requestable', template, reason, policies },
    evaluatedAt: row.evaluated_at,
    expiresAt: row.expires_at,
  };
}
