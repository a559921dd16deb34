import * as z from 'zod';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { AccessRequestClient } from './clients.ts';
import { ApiProblem } from './problem.ts';

// oxlint-disable-next-line no-control-regex -- it is what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

const name = z
  .string()
  .min(1)
  .max(1_024)
  .refine((text) => !CONTROL.test(text), 'no control characters');
const instant = z.iso.datetime({ offset: true });
const properties = z.record(z.string(), z.unknown()).optional();
const callDigest = z.string().regex(/^sha-256:[0-9a-f]{64}$/, 'sha-256: and 64 hex digits');

/** An actor in a delegation chain, as in tokens. @see RFC 8693, section 4.1 */
const hop = z.looseObject({
  sub: name,
  iss: name.optional(),
  get act(): z.ZodOptional<typeof hop> {
    return hop.optional();
  },
});

/** Statuses for which a client can request a callback. Only bundles are `partial`. */
const EVENTS = ['approved', 'denied', 'expired', 'cancelled', 'failed', 'partial'] as const;

const what = {
  resource: z.looseObject({ type: name, id: name, properties }),
  action: z.looseObject({ name, properties }),
};

const requestedAccess = z
  .looseObject({ requested_until: instant.optional(), emergency: z.boolean().optional() })
  .optional();

const denial = z.looseObject({
  expires_at: instant,
  evaluation_id: name.optional(),
  evaluated_at: instant.optional(),
  reason: z.string().optional(),
  template: z.string().optional(),
  binding_token: z.string().max(262_144).optional(),
});

const common = {
  subject: z.looseObject({ type: name, id: name, properties }),
  context: z
    .looseObject({ arguments: z.record(z.string(), z.unknown()).optional(), call_digest: callDigest.optional() })
    .refine((context) => context.call_digest === undefined || context.arguments !== undefined, {
      path: ['arguments'],
      message: 'missing, although call_digest is present',
    })
    .default({}),
  requested_access: requestedAccess,
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
};

/**
 * The shape of a submission. Unknown members are kept because the denial may bind them. A `context` with a call digest needs the
 * complete arguments.
 * @see ARAP, Submission
 */
const submissionSchema = z.looseObject({ ...common, ...what, denial });

export type Submission = z.infer<typeof submissionSchema>;

const INSTEAD = 'must be in each item instead';

/** A submission of several items, with one denial for all or one in each. A mix would be ambiguous. */
const bundleSchema = z
  .looseObject({
    ...common,
    resource: z.undefined(INSTEAD).optional(),
    action: z.undefined(INSTEAD).optional(),
    denial: denial.optional(),
    items: z
      .array(z.looseObject({ ...what, requested_access: requestedAccess, denial: denial.optional() }))
      .min(2, 'at least two; submit a single item without items'),
  })
  .refine(({ items, denial: ofAll }) => items.every((item) => (item.denial === undefined) === (ofAll !== undefined)), {
    path: ['denial'],
    message: 'is required once for the whole bundle, or once in each item, but not both',
  });

/**
 * The tool that will be called. In a mapped call, the resource is the object of the call, and the tool is in the context, covered by
 * the call digest.
 */
export const toolOf = ({ resource, context }: Pick<Submission, 'resource' | 'context'>): string =>
  context.call_digest !== undefined && typeof context['tool'] === 'string' ? context['tool'] : resource.id;

/** A validated submission, and its body exactly as parsed. */
export interface ShapedSubmission {
  /** The items of a bundle, or the one submission, each as if it had been submitted alone. */
  readonly items: readonly Submission[];
  /** Present for a bundle. `hasOneDenial`: one denial covers all items. */
  readonly bundle?: { readonly hasOneDenial: boolean };
  readonly body: JsonObject;
}

export interface BundleLimits {
  readonly maxItems: number;
  /** Maximum characters of the shared members times the items: they are stored with each item, so a small body could grow large. */
  readonly maxShared: number;
}

/** Throws an `ApiProblem` (400) that names the invalid members, never their values. */
export function readSubmission(
  body: unknown,
  { callbacks }: Pick<AccessRequestClient, 'callbacks'>,
  limits: BundleLimits | undefined,
): ShapedSubmission {
  const isBundle = typeof body === 'object' && body !== null && Object.hasOwn(body, 'items');
  const shaped = isBundle ? shapedBundle(body, limits) : { items: [parse(submissionSchema, body)] };
  // Only registered endpoints: a free address would let a submitter make this service call any host it can reach.
  const callback = shaped.items[0]?.callback;
  if (callback !== undefined && callbacks?.endpoints.has(callback.endpoint) !== true) {
    throw new ApiProblem(400, 'callback.endpoint: not registered for this client; submit again without a callback');
  }
  return { ...shaped, body: body as JsonObject };
}

function shapedBundle(body: unknown, limits: BundleLimits | undefined): Omit<ShapedSubmission, 'body'> {
  if (limits === undefined)
    throw new ApiProblem(400, 'items: bulk requests are not offered; submit each item separately');
  const { items, denial: ofAll, ...rest } = parse(bundleSchema, body);
  const { maxItems, maxShared } = limits;
  if (items.length > maxItems)
    throw new ApiProblem(400, `items: more than ${maxItems}; split them into several requests`);
  const shared = JSON.stringify([rest, { ...ofAll, binding_token: undefined }]).length;
  if (shared * items.length > maxShared)
    throw new ApiProblem(413, 'items: too many for the size of their shared members; submit fewer at once');
  const alone = items.map(({ resource, action, requested_access: own, denial: ofItem }): Submission => {
    const proof = ofItem ?? ofAll;
    if (proof === undefined) throw new Error('an item without a denial passed validation');
    const wanted = own === undefined ? rest.requested_access : { ...rest.requested_access, ...own };
    return { ...rest, resource, action, requested_access: wanted, denial: proof };
  });
  return { items: alone, bundle: { hasOneDenial: ofAll !== undefined } };
}

function parse<Shape extends z.ZodType>(schema: Shape, body: unknown): z.infer<Shape> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new ApiProblem(400, faults.slice(0, 10).join('; '));
}

/** Throws an `ApiProblem` (400) for a missing or invalid key. */
export function readIdempotencyKey(header: string | undefined): string {
  if (header === undefined || !/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw new ApiProblem(400, 'Idempotency-Key: 1 to 255 visible ASCII characters are required');
  }
  return header;
}

type Actor = NonNullable<NonNullable<Submission['client']>['actor']>;

/** The longest accepted chain. A longer one is refused, because no client can vouch for all of it. */
const MAX_HOPS = 8;

/**
 * The agent that a request comes from: the one that the denial binds, else one that the client can vouch for, else undefined. Every
 * identity in `client.actor` must be proven: approvers could not tell a claimed identity from a proven one. An unproven identity is
 * refused with an `ApiProblem` (403).
 *
 * The immediate actor is proven by the bound `context.agent`, which the PDP evaluated. That actor and every other hop can be proven
 * by an issuer whose identities the client verifies.
 * @see ARAP, Delegation (ARAP-DLG-03, ARAP-DLG-04, ARAP-SUB-18)
 */
export function verifiedAgent(
  { context, client }: Submission,
  proof: { members: readonly string[]; issuers: ReadonlySet<string> },
): string | undefined {
  const agent = proof.members.includes('agent') && typeof context['agent'] === 'string' ? context['agent'] : undefined;
  const actor = client?.actor;
  if (actor === undefined) return agent;
  if (agent !== undefined && actor.id !== agent) throw unproven('client.actor.id differs from the agent of the denial');
  const isIssued = (issuer: string | undefined) => issuer !== undefined && proof.issuers.has(issuer);
  if (!isIssued(actor.issuer) && (agent === undefined || actor.issuer !== undefined)) {
    throw unproven('client.actor: this client does not verify identities of its issuer');
  }
  for (const issuer of issuersOf(actor)) {
    if (!isIssued(issuer))
      throw unproven('client.actor.act: this client does not verify identities of an issuer in it');
  }
  return actor.id;
}

function issuersOf(actor: Actor): (string | undefined)[] {
  const issuers: (string | undefined)[] = [];
  for (let hop = actor.act; hop !== undefined; hop = hop.act) {
    issuers.push(hop.iss);
    if (issuers.length > MAX_HOPS) throw unproven(`client.actor.act: more than ${MAX_HOPS} actors in a chain`);
  }
  return issuers;
}

const unproven = (detail: string) => new ApiProblem(403, detail);
