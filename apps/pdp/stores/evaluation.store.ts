import type { Pool } from 'pg';
import type { BoundDenial } from '../binding-token.ts';

/** Where requestable denials are put on record before they are answered. */
export interface EvaluationStore {
  /** Throws when the row is not durable; the denial may then not be offered for a request (ARAP-DEN-08). */
  record(denial: BoundDenial): Promise<void>;
}

const INSERT = `
  INSERT INTO pdp.evaluation (evaluation_id, token_id, requester, subject, action, resource,
    binding_context_members, binding_hash, template, reason, policies, policy_version, evaluated_at,
    expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`;

export function createEvaluationStore(pool: Pool): EvaluationStore {
  return {
    async record(denial) {
      const { request, offer } = denial;
      await pool.query({
        name: 'pdp-record-evaluation',
        text: INSERT,
        values: [
          denial.evaluationId,
          denial.tokenId,
          denial.requester,
          JSON.stringify(request.subject),
          JSON.stringify(request.action),
          JSON.stringify(request.resource),
          denial.members,
          denial.bindingHash,
          offer.template,
          offer.reason,
          offer.policies,
          denial.policyVersion,
          denial.evaluatedAt,
          denial.expiresAt,
        ],
      });
    },
  };
}
