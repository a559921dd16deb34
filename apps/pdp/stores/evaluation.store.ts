import type { Pool } from 'pg';
import { boundParts } from '../../../workflows/domain/authzen/denial-binding.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { asUnavailable } from '../../../workflows/domain/errors.ts';
import type { BoundDenial, SignedDenial } from '../offer/binding-token.ts';

/** The records of requestable denials, which are written before the answers. */
export type EvaluationStore = ReturnType<typeof createEvaluationStore>;

type EvaluationRow = Omit<SignedDenial, 'inline' | 'offer'> &
  Pick<EvaluationRequest, 'subject' | 'action' | 'resource'> &
  Pick<SignedDenial['offer'], 'template' | 'reason' | 'policies'> & {
    readonly grantSeconds: number | null;
    readonly grantUses: number | null;
  };

const SELECT = `
  SELECT evaluation_id AS "evaluationId", token_id AS "tokenId", requester, subject, action, resource, binding_context_members AS members,
    binding_hash AS "bindingHash", template, listed_templates AS "listedTemplates", reason, policies, grant_seconds AS "grantSeconds", grant_uses AS "grantUses",
    evaluated_at AS "evaluatedAt",
    expires_at AS "expiresAt"
  FROM pdp.evaluation WHERE evaluation_id = $1`;

const INSERT = `
  INSERT INTO pdp.evaluation (evaluation_id, token_id, requester, subject, action, resource,
    binding_context_members, binding_hash, template, listed_templates, reason, policies, grant_seconds, grant_uses, policy_version, evaluated_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`;

export function createEvaluationStore(pool: Pool) {
  return {
    /** Throws if the row is not durable. The denial may then not offer an access request (ARAP-DEN-08). */
    async record(denial: BoundDenial): Promise<void> {
      await pool.query({ name: 'pdp-record-evaluation', text: INSERT, values: valuesOf(denial) });
    },

    /** The denial of this evaluation, if there is one. Throws `ERR_DATABASE_UNAVAILABLE` if a later attempt may succeed. */
    async find(evaluationId: string): Promise<SignedDenial | undefined> {
      // The id comes from an address, so it may have characters that no text column can store.
      if (!/^[\w-]{1,64}$/.test(evaluationId)) return undefined;
      const query = { name: 'pdp-find-evaluation', text: SELECT, values: [evaluationId] };
      const { rows } = await pool.query<EvaluationRow>(query).catch((error: unknown) => {
        throw asUnavailable(error);
      });
      const [row] = rows;
      return row && denialFrom(row);
    },

    /** Deletes denials older than `keepMs`, at most `limit`, and none that can still be used. Returns how many. */
    async forget(keepMs: number, limit: number): Promise<number> {
      const text = 'SELECT pdp.forget_evaluations($1, $2) AS count';
      const { rows } = await pool.query<{ count: number }>({ name: 'pdp-forget', text, values: [keepMs, limit] });
      return rows[0]?.count ?? 0;
    },
  };
}

/** In the order of the columns of `INSERT`. */
const valuesOf = ({ request: { subject, action, resource }, offer, ...denial }: BoundDenial) => [
  denial.evaluationId,
  denial.tokenId,
  denial.requester,
  subject,
  action,
  resource,
  denial.members,
  denial.bindingHash,
  offer.template,
  denial.listedTemplates,
  offer.reason,
  offer.policies,
  offer.grantable?.seconds,
  offer.grantable?.uses,
  denial.policyVersion,
  denial.evaluatedAt,
  denial.expiresAt,
];

function denialFrom({ subject, action, resource, template, reason, policies, ...row }: EvaluationRow): SignedDenial {
  const { grantSeconds: seconds, grantUses: uses, ...denial } = row;
  const grantable = seconds === null || uses === null ? {} : { grantable: { seconds, uses } };
  const { context: _none, ...inline } = boundParts({ subject, action, resource, context: {} }, []);
  return { ...denial, inline, offer: { kind: 'requestable', template, reason, policies, ...grantable } };
}
