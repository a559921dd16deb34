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

/** Statuses that a callback can be asked for. Only bundles are `partial`. */
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
      message: 'missing, although their digest is there',
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
 * What a submission has to look like. Unknown members stay: they may be bound by the denial. A `context` that has the
 * arguments of a call in it has to have them whole.
 * @see ARAP, Submission
 */
const submissionSchema = z.looseObject({ ...common, ...what, denial });

export type Submission = z.infer<typeof submissionSchema>;

const INSTEAD = 'stands in each item instead';

/** The same for several things: each in `items`, and one denial for all of them or one in each. Anything between would leave open which counts. */
const bundleSchema = z
  .looseObject({
    ...common,
    resource: z.undefined(INSTEAD).optional(),
    action: z.undefined(INSTEAD).optional(),
    denial: denial.optional(),
    items: z
      .array(z.looseObject({ ...what, requested_access: requestedAccess, denial: denial.optional() }))
      .min(2, 'two at least; submit a single one without items'),
  })
  .refine(({ items, denial: ofAll }) => items.every((item) => (item.denial === undefined) === (ofAll !== undefined)), {
    path: ['denial'],
    message: 'is needed once for the whole bundle, or in each of its items and not beside them',
  });

/**
 * The tool that will be called. Of a call that was asked about in other words than those of the protocol the resource is what it is
 * about; the tool stands beside, and is what the digest of the call says.
 */
export const toolOf = ({ resource, context }: Pick<Submission, 'resource' | 'context'>): string =>
  context.call_digest !== undefined && typeof context['tool'] === 'string' ? context['tool'] : resource.id;

/** A submission that has the right shape, beside the body exactly as it was parsed. */
export interface ShapedSubmission {
  /** What is asked for, each as if it had been submitted alone: one, or the items of a bundle. */
  readonly items: readonly Submission[];
  /** Whether it was submitted in `items`, and then whether one denial is about all of them. */
  readonly bundle?: { readonly hasOneDenial: boolean };
  readonly body: JsonObject;
}

/** Which bundles are taken. */
export interface BundleLimits {
  readonly maxItems: number;
  /** Most characters that all items may have of what they share: it is kept with each, so a small body could become a large one. */
  readonly maxShared: number;
}

/** Throws a `Problem` (400) that names the members at fault, never their values. */
export function readSubmission(
  body: unknown,
  { callbacks }: Pick<AccessRequestClient, 'callbacks'>,
  limits: BundleLimits | undefined,
): ShapedSubmission {
  const isBundle = typeof body === 'object' && body !== null && Object.hasOwn(body, 'items');
  const shaped = isBundle ? shapedBundle(body, limits) : { items: [parse(submissionSchema, body)] };
  // Only what was registered: a free address would let a submitter make this service call whatever it can reach.
  const callback = shaped.items[0]?.callback;
  if (callback !== undefined && callbacks?.endpoints.has(callback.endpoint) !== true) {
    throw new Problem(400, 'callback.endpoint: not registered for this client; submit again without a callback');
  }
  return { ...shaped, body: body as JsonObject };
}

function shapedBundle(body: unknown, limits: BundleLimits | undefined): Omit<ShapedSubmission, 'body'> {
  if (limits === undefined) throw new Problem(400, 'items: bulk requests are not offered; submit each item by itself');
  const { items, denial: ofAll, ...rest } = parse(bundleSchema, body);
  const { maxItems, maxShared } = limits;
  if (items.length > maxItems) throw new Problem(400, `items: more than ${maxItems}; submit them in several requests`);
  const shared = JSON.stringify([rest, { ...ofAll, binding_token: undefined }]).length;
  if (shared * items.length > maxShared)
    throw new Problem(413, 'items: too many for what they share; submit fewer at once');
  const alone = items.map(({ resource, action, requested_access: own, denial: ofItem }): Submission => {
    const proof = ofItem ?? ofAll;
    if (proof === undefined) throw new Error('an item without a denial has the right shape');
    const wanted = own === undefined ? rest.requested_access : { ...rest.requested_access, ...own };
    return { ...rest, resource, action, requested_access: wanted, denial: proof };
  });
  return { items: alone, bundle: { hasOneDenial: ofAll !== undefined } };
}

function parse<Shape extends z.ZodType>(schema: Shape, body: unknown): z.infer<Shape> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new Problem(400, faults.slice(0, 10).join('; '));
}

/** The key of a submission. Throws a `Problem` (400) when there is none or it cannot be one. */
export function readIdempotencyKey(header: string | undefined): string {
  if (header === undefined || !/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw new Problem(400, 'Idempotency-Key: 1 to 255 visible ASCII characters are required');
  }
  return header;
}

type Actor = NonNullable<NonNullable<Submission['client']>['actor']>;

/** Hops of a chain that are looked at. Whoever names more names more than anybody can answer for. */
const MAX_HOPS = 8;

/**
 * The agent that a request comes from: what the denial binds, else what a client that may vouch for it says. Undefined
 * when nobody says. Every identity in `client.actor` has to be proven, or the submission is refused with a `Problem`
 * (403): one that is only claimed may decide nothing, and nothing tells approvers that it is only claimed.
 *
 * The immediate actor is proven by the bound `context.agent`, which the PDP was asked about; it and every other hop by
 * an issuer whose identities the client verifies.
 * @see ARAP, Delegation (ARAP-DLG-03, ARAP-DLG-04, ARAP-SUB-18)
 */
export function verifiedAgent(
  { context, client }: Submission,
  proof: { members: readonly string[]; issuers: ReadonlySet<string> },
): string | undefined {
  const agent = proof.members.includes('agent') && typeof context['agent'] === 'string' ? context['agent'] : undefined;
  const actor = client?.actor;
  if (actor === undefined) return agent;
  if (agent !== undefined && actor.id !== agent) throw unproven('client.actor.id is not the agent of the denial');
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

const unproven = (detail: string) => new Problem(403, detail);
