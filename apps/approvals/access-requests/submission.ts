import * as z from 'zod';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { AccessRequestClient } from './clients.ts';
import { Problem } from './problem.ts';

// eslint-disable-next-line no-control-regex -- it is what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

const name = z
  .string()
  .min(1)
  .max(1_024)
  .refine((text) => !CONTROL.test(text), 'no control characters');
const instant = z.iso.datetime({ offset: true });
const properties = z.record(z.string(), z.unknown()).optional();
const callDigest = z.string().regex(/^sha-256:[0-9a-f]{64}$/, 'sha-256: and 64 hex digits');

/** One more hop of a delegation chain, in the form that tokens have. @see RFC 8693, section 4.1 */
interface Hop {
  readonly sub: string;
  readonly iss?: string | undefined;
  readonly act?: Hop | undefined;
}
const hop: z.ZodType<Hop> = z.looseObject({
  sub: name,
  iss: name.optional(),
  get act() {
    return hop.optional();
  },
});

/** Statuses that a callback can be asked for. `partial` exists for bulk requests, which are not offered. */
const EVENTS = ['approved', 'denied', 'expired', 'cancelled', 'failed', 'partial'] as const;

/**
 * What a submission has to look like. Unknown members stay: they may be bound by the denial. A `context` that has the
 * arguments of a call in it has to have them whole.
 * @see ARAP, Submission
 */
const submissionSchema = z.looseObject({
  subject: z.looseObject({ type: name, id: name, properties }),
  resource: z.looseObject({ type: name, id: name, properties }),
  action: z.looseObject({ name, properties }),
  context: z
    .looseObject({ arguments: z.record(z.string(), z.unknown()).optional(), call_digest: callDigest.optional() })
    .refine((context) => context.call_digest === undefined || context.arguments !== undefined, {
      path: ['arguments'],
      message: 'missing, although their digest is there',
    })
    .default({}),
  requested_access: z
    .looseObject({ requested_until: instant.optional(), emergency: z.boolean().optional() })
    .optional(),
  client: z
    .looseObject({
      id: name.optional(),
      actor: z.looseObject({ id: name, issuer: name.optional(), act: hop.optional() }).optional(),
      source: z.looseObject({ generation: z.int32().min(1).optional() }).optional(),
    })
    .optional(),
  callback: z
    .looseObject({
      endpoint: z.url(),
      state: z.string().max(2_048).optional(),
      events: z.array(z.enum(EVENTS)).min(1).optional(),
    })
    .optional(),
  denial: z.looseObject({
    expires_at: instant,
    evaluation_id: name.optional(),
    evaluated_at: instant.optional(),
    reason: z.string().optional(),
    template: z.string().optional(),
    binding_token: z.string().max(262_144).optional(),
  }),
});

export type Submission = z.infer<typeof submissionSchema>;

/**
 * The tool that will be called. Of a call that was asked about in other words than those of the protocol the resource is what it is
 * about; the tool stands beside, and is what the digest of the call says.
 */
export const toolOf = ({ resource, context }: Pick<Submission, 'resource' | 'context'>): string =>
  context.call_digest !== undefined && typeof context['tool'] === 'string' ? context['tool'] : resource.id;

/** A submission that has the right shape, beside the body exactly as it was parsed. */
export interface ShapedSubmission {
  readonly submission: Submission;
  readonly body: JsonObject;
}

/** Throws a `Problem` (400) that names the members at fault, never their values. */
export function readSubmission(body: unknown, { callbacks }: Pick<AccessRequestClient, 'callbacks'>): ShapedSubmission {
  const parsed = submissionSchema.safeParse(body);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
    throw new Problem(400, faults.slice(0, 10).join('; '));
  }
  const submission = parsed.data;
  if ('items' in submission) throw new Problem(400, 'items: bulk requests are not offered');
  // Only what was registered: a free address would let a submitter make this service call whatever it can reach.
  if (submission.callback !== undefined && callbacks?.endpoints.has(submission.callback.endpoint) !== true) {
    throw new Problem(400, 'callback.endpoint: not registered for this client; submit again without a callback');
  }
  return { submission, body: body as JsonObject };
}

/** The key of a submission. Throws a `Problem` (400) when there is none or it cannot be one. */
export function readIdempotencyKey(header: string | undefined): string {
  if (header === undefined || !/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw new Problem(400, 'Idempotency-Key: 1 to 255 visible ASCII characters are required');
  }
  return header;
}
