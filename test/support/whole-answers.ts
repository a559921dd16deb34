import * as z from 'zod';
import { POLICIES_MEMBER, POLICY_VERSION_MEMBER, RESOLUTION_LINK } from '../../workflows/domain/authzen/evaluation.ts';

const instant = z.iso.datetime({ offset: true });
const display = z.strictObject({ title: z.string().optional(), description: z.string().optional() });
const basis = {
  [POLICY_VERSION_MEMBER]: z.string().regex(/^sha-256:/),
  [POLICIES_MEMBER]: z.array(z.string()).min(1),
};
/**
 * The complete answers of PDP and access request service: other members would have to be extensions, and have extension
 * names.
 */
export const SHAPES = {
  denial: z.strictObject({
    decision: z.literal(false),
    context: z.strictObject({
      ...basis,
      evaluation_id: z.string(),
      evaluated_at: instant,
      reason: z.string(),
      next_action: z.enum(['request', 'retry', 'none']).optional(),
      access_request: z.strictObject({
        endpoint: z.url(),
        template: z.string(),
        expires_at: instant,
        binding_token: z.string(),
        request_schema_url: z.url().optional(),
        display: display.optional(),
      }),
    }),
  }),
  permit: z.strictObject({
    decision: z.literal(true),
    context: z.strictObject({
      ...basis,
      approval: z.strictObject({ id: z.string(), approved_until: instant }),
    }),
  }),
  status: z.strictObject({
    task: z.strictObject({
      id: z.string(),
      status: z.enum(['pending', 'approved', 'denied', 'expired', 'cancelled', 'failed']),
      status_endpoint: z.url(),
      expires_at: instant,
      progress: z.strictObject({ current_step: z.int().min(1), total_steps: z.int().min(1) }).loose(),
      display: z.strictObject({ title: z.string() }),
      links: z.strictObject({ cancel: z.url().optional(), ticket: z.url(), [RESOLUTION_LINK]: z.url() }),
    }),
    result: z
      .strictObject({
        mode: z.literal('reevaluate'),
        approval: z.strictObject({ id: z.string(), approved_at: instant, approved_until: instant, state: z.string() }),
      })
      .optional(),
  }),
  callback: z.strictObject({
    state: z.string(),
    task: z.strictObject({ id: z.string(), status: z.string(), status_endpoint: z.url() }),
  }),
};
