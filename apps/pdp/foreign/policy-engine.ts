import * as z from 'zod';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { PolicyAnswer } from '../cedar/requestable.ts';
import type { PolicyEngine, VerifiedApproval } from '../policy-engine.ts';
import { obligationsIn } from '../obligations.ts';
import { offerOf, reasonOf, type Hint } from './hints.ts';

export interface ForeignPolicies {
  /** Puts an evaluation request to the PDP and answers the body that came. Throws `ERR_PDP_UNAVAILABLE`. */
  readonly ask: (question: object) => Promise<unknown>;
  /** `cerbos`: policies cannot see the context of a request, so what they are to know of an approval stands with the subject. */
  readonly dialect: 'authzen' | 'cerbos';
  readonly requestable: readonly Hint[];
}

/** Anything but a literal boolean is no decision. */
const answerBody = z.looseObject({ decision: z.boolean(), context: z.unknown().optional() });

/** Where an approval stands for policies. What a caller sent there never reaches them (PRJ-27). */
const APPROVAL = 'approval';

/**
 * Has the policies of somebody else's PDP decide. It knows nothing of access requests: which of its denials an approval may
 * cure is agreed in hints, and that an approval was given is one more input to it. Only its own permit permits.
 */
export function foreignPolicies({ ask, dialect, requestable }: ForeignPolicies): PolicyEngine {
  return {
    async answer(request, approval) {
      const answer = answerBody.safeParse(await ask(questionOf(request, approval, dialect)));
      if (!answer.success) {
        throw new CountersignError(
          'ERR_PDP_UNAVAILABLE',
          'the policy decision point gave an answer that cannot be read',
        );
      }
      const { decision, context } = answer.data;
      const { handed, isWhole } = obligationsIn(context);
      const demanded = handed.length > 0 && { obligations: handed };
      if (!isWhole) return { ...NOT_HANDED_ON, ...demanded };
      if (decision) return { kind: 'permit', policies: [], ...demanded };
      const offer = offerOf(context, requestable);
      // It knows of such an approval, and denies all the same: another one would change nothing.
      const isCured = offer !== undefined && offer.template !== approval?.facts.template;
      if (isCured) return { ...offer, ...demanded };
      return { kind: 'deny', reason: reasonOf(context) ?? 'not_permitted', policies: [], ...demanded };
    },
    // Nobody here can tell which members its policies look at.
    contextOf: () => ({ has: () => true }),
  };
}

/** What cannot be read or named cannot be handed on, and what is not handed on would be passed over. The others go with the denial (OBL-10). */
const NOT_HANDED_ON: PolicyAnswer = {
  kind: 'failed',
  reason: 'obligations_not_supported',
  cause:
    'the policy decision point behind this one demands an obligation that cannot be read, or of a type that is not registered',
};

/** No members but those of AuthZEN, and always a context: there are PDPs that refuse anything else (PRJ-30). */
function questionOf(
  { subject, action, resource, context }: EvaluationRequest,
  approval: VerifiedApproval | undefined,
  dialect: ForeignPolicies['dialect'],
): object {
  const facts = approval && {
    [APPROVAL]: { ...approval.facts, id: approval.id, approved_until: approval.approvedUntil },
  };
  const { type, id, properties } = subject;
  const { type: resourceType, id: resourceId, properties: resourceProperties } = resource;
  const isCerbos = dialect === 'cerbos';
  return {
    subject: { type, id, ...propertiesOf(without(properties, APPROVAL), isCerbos ? facts : undefined) },
    action: { name: action.name, ...propertiesOf(action.properties) },
    resource: { type: resourceType, id: resourceId, ...propertiesOf(resourceProperties) },
    context: isCerbos ? { ...context, 'cerbos.includeMeta': true } : { ...without(context, APPROVAL), ...facts },
  };
}

const propertiesOf = (...all: (JsonObject | null | undefined)[]) => {
  const properties = Object.assign({}, ...all.filter((one) => one !== null && one !== undefined)) as JsonObject;
  return Object.keys(properties).length === 0 ? {} : { properties };
};

function without(object: JsonObject | null | undefined, name: string): JsonObject {
  const { [name]: _left, ...rest } = object ?? {};
  return rest;
}
