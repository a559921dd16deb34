import * as z from 'zod';
import {
  type AccessRequestOffer,
  type Decision,
  POLICIES_MEMBER,
  POLICY_VERSION_MEMBER,
  type PolicyBasis,
} from '../../../workflows/domain/authzen/evaluation.ts';
import { type Json, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Trust } from '../http.ts';

/** Body of an evaluation response. Anything but a literal boolean is no decision. @see AuthZEN 1.0, section 6.2 */
const answerBody = z.looseObject({ decision: z.boolean(), context: z.unknown().optional() });

const instant = z.iso.datetime({ offset: true });
const denialContext = z.looseObject({
  evaluation_id: z.string().min(1).optional().catch(undefined),
  evaluated_at: z.string().optional().catch(undefined),
  reason: z.string().optional().catch(undefined),
  next_action: z.string().optional().catch(undefined),
  retry_after: z.number().int().nonnegative().optional().catch(undefined),
  access_request: z.unknown().optional(),
});
const offerBody = z.looseObject({
  endpoint: z.string().optional(),
  template: z.string().optional(),
  expires_at: instant,
  binding_token: z.string().min(1).optional(),
  request_schema_url: z.string().optional(),
  request_catalogs_url: z.string().optional(),
});
const allowContext = z.looseObject({
  evaluation_id: z.string().min(1).optional().catch(undefined),
  approval: z.looseObject({ approved_until: instant.optional() }).optional(),
});

type DenialContext = z.infer<typeof denialContext>;
type NextAction = 'retry' | 'request' | 'none';

/** The evaluation request and the services around the PDP, as far as reading an answer needs them. */
interface Asked {
  readonly withApproval: boolean;
  /** The submission URL for a denial that names none. */
  readonly accessRequests: string | undefined;
  readonly trust: Pick<Trust, 'accessRequests' | 'documents'>;
}

/** Our PDP's reason for a denial that would be requestable, but could not be put on record: no answer for a caller. */
const UNAVAILABLE = 'access_request_unavailable';

/** The next action for a reason, when the PDP names none. @see ARAP, reason registry */
const NEXT_ACTION_OF_REASON: Readonly<Record<string, NextAction>> = {
  approval_expired: 'request',
  out_of_scope: 'request',
  grant_pending: 'retry',
  policy_denied: 'none',
  approval_unverifiable: 'none',
  [UNAVAILABLE]: 'retry',
};

/** A name that a column can hold and a page can show: a foreign PDP may send any text. */
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u);
const MAX_POLICIES = 100;
const basisBody = z.looseObject({
  context: z.looseObject({
    [POLICY_VERSION_MEMBER]: name.optional().catch(undefined),
    [POLICIES_MEMBER]: z.array(name).min(1).max(MAX_POLICIES).optional().catch(undefined),
  }),
});

/** The basis that an answer states. An unreadable one is left out: no decision rests on it. */
function basisOf(body: unknown): PolicyBasis | undefined {
  const context = basisBody.safeParse(body).data?.context;
  const { [POLICY_VERSION_MEMBER]: policyVersion, [POLICIES_MEMBER]: policies } = context ?? {};
  if (policyVersion === undefined && policies === undefined) return undefined;
  return { ...(policyVersion !== undefined && { policyVersion }), ...(policies !== undefined && { policies }) };
}

/**
 * Reads an evaluation response without its obligations: an allow counts only after they are met. Only a literal `decision: true`
 * allows. Throws `ERR_PDP_UNAVAILABLE` when the answer cannot be read, and when our PDP could not put its denial on record; a
 * denial with unreadable details is a plain denial.
 */
export function readDecision(body: unknown, asked: Asked): Decision {
  const answer = answerBody.safeParse(body);
  if (!answer.success) throw unreadable();
  const basis = basisOf(body);
  return { ...readAnswer(answer.data, asked), ...(basis !== undefined && { basis }) };
}

function readAnswer(data: z.infer<typeof answerBody>, asked: Asked): Decision {
  if (data.decision) return readAllow(data.context);
  const context = denialContext.safeParse(data.context ?? {});
  if (!context.success) return { kind: 'deny' };
  return readDenial(context.data, asked);
}

const obligingBody = z.looseObject({ context: z.looseObject({ obligations: z.json().optional() }) });

/** The obligations of an answer, as they came. Any other value than a list is one unreadable obligation. @see AuthZEN Obligations Profile */
export function obligationsIn(body: unknown): readonly Json[] {
  const { obligations } = obligingBody.safeParse(body).data?.context ?? {};
  if (obligations === undefined) return [];
  return Array.isArray(obligations) ? obligations : [null];
}

function unreadable(): CountersignError {
  return new CountersignError('ERR_PDP_UNAVAILABLE', 'the policy decision point gave an answer that cannot be read');
}

function readAllow(raw: unknown): Decision {
  const context = allowContext.safeParse(raw ?? {});
  // An approval expiry that cannot be read cannot be enforced either (ARAP-REV-12).
  if (!context.success) throw unreadable();
  const { evaluation_id: evaluationId, approval } = context.data;
  return {
    kind: 'allow',
    ...(evaluationId !== undefined && { evaluationId }),
    ...(approval?.approved_until !== undefined && { approvedUntil: approval.approved_until }),
  };
}

function readDenial(
  context: DenialContext,
  asked: Asked,
): Extract<Decision, { kind: 'deny' | 'requestable' | 'retry' }> {
  const { evaluation_id: evaluationId, evaluated_at: evaluatedAt, reason } = context;
  if (reason === UNAVAILABLE && !asked.withApproval) {
    throw new CountersignError('ERR_PDP_UNAVAILABLE', 'the policy decision point could not put its denial on record');
  }
  const common = { ...(evaluationId !== undefined && { evaluationId }), ...(reason !== undefined && { reason }) };
  const offer = readOffer(context, asked);
  const next = asked.withApproval ? nextActionOf(context, offer !== undefined) : 'request';
  if (next === 'retry') {
    const { retry_after: seconds } = context;
    return { kind: 'retry', ...common, ...(seconds !== undefined && { retryAfterMs: seconds * 1_000 }) };
  }
  if (next === 'none' || offer === undefined) return { kind: 'deny', ...common };
  return { kind: 'requestable', ...common, ...(evaluatedAt !== undefined && { evaluatedAt }), offer };
}

/** A known value decides; else a known reason; else whether there is an offer. */
function nextActionOf(context: DenialContext, hasOffer: boolean): NextAction {
  const said = context.next_action;
  if (said === 'retry' || said === 'request' || said === 'none') return said;
  const byReason = ownProperty(NEXT_ACTION_OF_REASON, context.reason ?? '');
  return byReason ?? (hasOffer ? 'request' : 'none');
}

/** The addresses to which a request for an approval may go. */
type Addresses = Pick<Asked, 'accessRequests' | 'trust'>;

/**
 * The offer of a denial, if it can be taken up: it has an end, an id or token that ties a submission to it, a submission URL, and
 * only trusted addresses, so that our credential and the call go nowhere else (PRJ-24). Its texts stay as they came, because the
 * submission has to repeat them exactly (PRJ-08). Catalogs without a schema have no fields, and cannot be enforced (ARAP-DEN-17,
 * ARAP-FRM-05).
 */
function readOffer(context: DenialContext, addresses: Addresses): AccessRequestOffer | undefined {
  const parsed = offerBody.safeParse(context.access_request);
  if (!parsed.success) return undefined;
  const { template, expires_at: expiresAt, binding_token: bindingToken } = parsed.data;
  const { request_schema_url: requestSchemaUrl, request_catalogs_url: requestCatalogsUrl } = parsed.data;
  const { endpoint = addresses.accessRequests } = parsed.data;
  if (bindingToken === undefined && context.evaluation_id === undefined) return undefined;
  if (endpoint === undefined || foreignAddressOf(parsed.data, addresses) !== undefined) return undefined;
  if (requestCatalogsUrl !== undefined && requestSchemaUrl === undefined) return undefined;
  return {
    expiresAt,
    endpoint,
    ...(template !== undefined && { template }),
    ...(bindingToken !== undefined && { bindingToken }),
    ...(requestSchemaUrl !== undefined && { requestSchemaUrl }),
    ...(requestCatalogsUrl !== undefined && { requestCatalogsUrl }),
  };
}

/** The address that keeps an offered access request from being submitted: it is not trusted, or missing. */
export function foreignAddressIn(body: unknown, addresses: Addresses): Record<string, unknown> | undefined {
  const { context } = body as { context?: { access_request?: Record<string, unknown> | null } | null };
  const offer = context?.access_request;
  return typeof offer === 'object' && offer !== null ? foreignAddressOf(offer, addresses) : undefined;
}

function foreignAddressOf(offer: Readonly<Record<string, unknown>>, { accessRequests, trust }: Addresses) {
  const { endpoint = accessRequests, request_schema_url: schema, request_catalogs_url: catalogs } = offer;
  const isForeign = (url: unknown) => url !== undefined && (typeof url !== 'string' || !trust.documents(url));
  if (typeof endpoint !== 'string' || !trust.accessRequests(endpoint)) return { endpoint: endpoint ?? 'none' };
  if (isForeign(schema)) return { schema };
  return isForeign(catalogs) ? { catalogs } : undefined;
}
