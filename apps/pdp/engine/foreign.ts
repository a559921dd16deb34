import * as z from 'zod';
import { isSameJson } from '../../../workflows/domain/authzen/denial-binding.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, isObject, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Config } from '../../shared/config/config.ts';
import { sha256 } from '../../shared/crypto.ts';
import { obligationsIn } from '../obligations.ts';
import type { PolicyAnswer, PolicyEngine, PolicyVersion, Requestable, VerifiedApproval } from './policy-engine.ts';

type Settings = NonNullable<Config['pdp']['engine']>['authzen'];

export interface ForeignPdp extends Pick<Settings, 'url' | 'dialect' | 'requestable'> {
  /** Sends an evaluation request to the PDP and returns the body of the response. Throws `ERR_PDP_UNAVAILABLE`. */
  readonly ask: (request: object) => Promise<unknown>;
  /** Whether `approvals.templates` lists a template now. */
  readonly isListed: (template: string) => boolean;
}

/**
 * Lets another PDP decide. The id of its version covers what was agreed with it: the other PDP's own versions are not
 * known here.
 */
export function foreignEngine(pdp: ForeignPdp): PolicyEngine {
  const { url, dialect, requestable, isListed } = pdp;
  const agreed = JSON.parse(JSON.stringify({ url, dialect, requestable })) as Json;
  const id = `sha-256:${sha256(canonicalJson(agreed))}`;
  const version: PolicyVersion = {
    id,
    answer: (request, approval) => answer(pdp, request, approval),
    // The members that its policies look at are not known here.
    contextOf: () => ({ has: () => true }),
    requestSchemaPath: () => undefined,
    isListed,
  };
  return {
    canSearch: false,
    use: (work) => work(version),
    findRequestSchema: () => undefined,
    status: () => ({ policy_version: id }),
    reload: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** Only a literal boolean is a decision. */
const responseBody = z.looseObject({ decision: z.boolean(), context: z.unknown().optional() });

/**
 * The other PDP knows nothing of access requests. Hints say which of its denials an approval may cure, and a given
 * approval is one more input to it. Only its own permit permits.
 */
async function answer(
  { ask, dialect, requestable }: ForeignPdp,
  request: EvaluationRequest,
  approval: VerifiedApproval | undefined,
): Promise<PolicyAnswer> {
  const body = responseBody.safeParse(await ask(toForeignRequest(request, approval, dialect)));
  if (!body.success) {
    const message = 'the policy decision point gave an answer that cannot be read';
    throw new CountersignError('ERR_PDP_UNAVAILABLE', message);
  }
  const { decision, context } = body.data;
  const { readable, isWhole } = obligationsIn(context);
  const demanded = readable.length > 0 && { obligations: readable };
  if (!isWhole) return { ...UNREADABLE_OBLIGATION, ...demanded };
  if (decision) return { kind: 'permit', policies: [], ...demanded };
  const offer = offerOf(context, requestable);
  // It knows of such an approval and denies all the same. Another one would change nothing.
  const isCurable = offer !== undefined && offer.template !== approval?.facts.template;
  if (isCurable) return { ...offer, ...demanded };
  return { kind: 'deny', reason: reasonOf(context) ?? 'not_permitted', policies: [], ...demanded };
}

/** An obligation that cannot be passed on would be ignored, so the request is denied. The others go with the denial (OBL-10). */
const UNREADABLE_OBLIGATION: PolicyAnswer = {
  kind: 'failed',
  reason: 'obligations_not_supported',
  cause:
    'the policy decision point behind this one demands an obligation that cannot be read, or of a type that is not registered',
};

/** Member with the facts about an approval. What a caller sends there never reaches policies (PRJ-27). */
const APPROVAL = 'approval';

/**
 * Has no members but those of AuthZEN, and always a context: some PDPs refuse anything else (PRJ-30). Policies of Cerbos cannot
 * see the context, so the facts about an approval go with the subject.
 */
function toForeignRequest(
  { subject, action, resource, context }: EvaluationRequest,
  approval: VerifiedApproval | undefined,
  dialect: ForeignPdp['dialect'],
): object {
  const facts = approval && {
    [APPROVAL]: { ...approval.facts, id: approval.id, approved_until: approval.approvedUntil },
  };
  const isCerbos = dialect === 'cerbos';
  return {
    subject: {
      type: subject.type,
      id: subject.id,
      ...propertiesOf(without(subject.properties, APPROVAL), isCerbos ? facts : undefined),
    },
    action: { name: action.name, ...propertiesOf(action.properties) },
    resource: { type: resource.type, id: resource.id, ...propertiesOf(resource.properties) },
    context: isCerbos ? { ...context, 'cerbos.includeMeta': true } : { ...without(context, APPROVAL), ...facts },
  };
}

const propertiesOf = (...all: (JsonObject | null | undefined)[]) => {
  const properties = Object.assign({}, ...all) as JsonObject;
  return Object.keys(properties).length === 0 ? {} : { properties };
};

function without(object: JsonObject | null | undefined, name: string): JsonObject {
  const { [name]: _left, ...rest } = object ?? {};
  return rest;
}

const reasonContext = z.looseObject({ reason: z.string() });
const cerbosContext = z.looseObject({
  'cerbos.response': z.looseObject({
    results: z.array(z.looseObject({ outputs: z.array(z.looseObject({ val: z.json() })).optional() })),
  }),
});

/** Callers see reasons, so only codes are passed on, and no sentences (ARAP-DEN-19). */
const CODE = /^[A-Za-z0-9_.:-]{1,64}$/;

function reasonOf(context: unknown): string | undefined {
  const reason = reasonContext.safeParse(context).data?.reason;
  return reason !== undefined && CODE.test(reason) ? reason : undefined;
}

/** What a denial with this context offers, by the first hint that fits it. Undefined without such a hint. */
function offerOf(context: unknown, hints: Settings['requestable']): Requestable | undefined {
  const outputs = outputsOf(context);
  const reason = reasonOf(context);
  const hint = hints.find((one) =>
    one.output === undefined ? one.reason === reason : outputs.some((value) => isPartOf(one.output as Json, value)),
  );
  return (
    hint && {
      kind: 'requestable',
      template: hint.template,
      reason: reason ?? 'approval_required',
      ...(hint.title !== undefined && { title: hint.title }),
      ...(hint.description !== undefined && { description: hint.description }),
      policies: [],
    }
  );
}

function outputsOf(context: unknown): readonly Json[] {
  const { results } = cerbosContext.safeParse(context).data?.['cerbos.response'] ?? { results: [] };
  return results.flatMap(({ outputs = [] }) => outputs.map(({ val }) => val as Json));
}

function isPartOf(expected: Json, value: Json): boolean {
  if (!isObject(expected) || !isObject(value)) return isSameJson(expected, value);
  return Object.entries(expected).every(
    ([name, member]) => Object.hasOwn(value, name) && isSameJson(member, value[name] as Json),
  );
}
