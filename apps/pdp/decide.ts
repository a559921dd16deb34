import type { Logger } from 'pino';
import {
  type EvaluationRequest,
  PEP_CLIENT_ID,
  POLICIES_MEMBER,
  POLICY_VERSION_MEMBER,
} from '../../workflows/domain/authzen/evaluation.ts';
import { SUPPORTED_MEMBER } from '../../workflows/domain/authzen/obligation.ts';
import type { Clock } from '../shared/clock.ts';
import { templatesIn } from '../shared/rules/rules.ts';
import type { ApprovalVerdict, VerifyApproval } from './approval/verify-approval.ts';
import type { DecisionLog } from './decision-log.ts';
import { shortVersion, type PolicyAnswer, type PolicyVersion, type Requestable } from './engine/policy-engine.ts';
import { withinSupport, withObligations } from './obligations.ts';
import { bindDenial, displayOf, type SignBindingToken } from './offer/binding-token.ts';
import type { EvaluationStore } from './stores/evaluation.store.ts';

/** Body of an access evaluation response. */
export interface DecisionBody {
  readonly decision: boolean;
  readonly context?: Readonly<Record<string, unknown>>;
}

/**
 * Decides one request by one version of the policies. Denies if it cannot sign or record what the answer needs. Throws only
 * if the policy engine cannot answer.
 *
 * @param requester Name of the enforcement point, as the PDP authenticated it.
 */
export type Decide = (policies: PolicyVersion, request: EvaluationRequest, requester: string) => Promise<DecisionBody>;

export interface DecideWith {
  readonly verifyApproval: VerifyApproval;
  readonly signBindingToken: SignBindingToken;
  readonly evaluations: Pick<EvaluationStore, 'record'>;
  /** Address of the PDP. */
  readonly url: string;
  /** Submission URL of the access request service. */
  readonly accessRequests: string;
  /** Address of the catalogs from which values are chosen. Undefined if none are. Of no use without a request schema. */
  readonly requestCatalogsUrl: (template: string, evaluationId: string) => string | undefined;
  readonly denialTtlSeconds: number;
  readonly decisionLog?: Pick<DecisionLog, 'note'> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long an enforcement point is told to wait while something that the answer needs is unavailable. */
const RETRY_AFTER_SECONDS = 5;
/** Reason of a denial that an access request could cure, but that cannot be recorded now. */
const UNAVAILABLE = 'access_request_unavailable';

interface Asked {
  readonly policies: PolicyVersion;
  /** Without `context.approval`, which is a credential. */
  readonly request: EvaluationRequest;
  readonly requester: string;
  /** Types of obligations that the enforcement point says it can comply with. Undefined if it says nothing. */
  readonly supported: readonly string[] | undefined;
}

export function createDecide(deps: DecideWith): Decide {
  return async (policies, request, requester) => {
    // Policies do not see what the enforcement point can do, and a denial does not bind it: another one may present the approval.
    const { approval, [SUPPORTED_MEMBER]: declared, ...context } = request.context;
    const supported = (declared ?? undefined) as readonly string[] | undefined;
    const asked = { policies, request: { ...request, context }, requester, supported };
    const visible = policies.contextOf(request.action.name);
    // A member that is null counts as left out (AZ-TR-14).
    const isFirst = approval === undefined || approval === null;
    const presented = { approval, request: asked.request, requester, visible };
    const verdict = isFirst ? undefined : await deps.verifyApproval(presented);
    const answer = await answerOf(deps, asked, verdict);
    const body = verdict ? answerAgain(deps, { answer, verdict }, asked) : answerFirst(deps, answer, asked);
    return stamped(await body, answer, asked);
  };
}

async function answerOf(deps: DecideWith, asked: Asked, verdict?: ApprovalVerdict): Promise<PolicyAnswer> {
  const { policies, request, requester, supported } = asked;
  const approval = verdict?.kind === 'verified' ? verdict : undefined;
  const answer = withinSupport(await policies.answer(request, approval), supported);
  deps.decisionLog?.note(policies.id, { request, requester, answer, approvedFor: approval?.facts.template });
  logAnswer(deps.log, asked, { answer, isAgain: verdict !== undefined });
  return answer;
}

const versionOf = ({ policies }: Asked) => ({ policyVersion: shortVersion(policies.id) });

/**
 * One line for each answer. Operators see what holds a call, and what is evaluated again with an approval. Everything else is
 * at `debug`, since allowed calls are many. A failed evaluation is an alarm as well.
 */
function logAnswer(log: Logger, asked: Asked, { answer, isAgain }: { answer: PolicyAnswer; isAgain: boolean }): void {
  const { subject, action, resource, context } = asked.request;
  // A mapping may put an argument where the tool is by default.
  const tool = resource.type === 'tool' ? resource.id : context['tool'];
  const facts = {
    ...versionOf(asked),
    event: 'decision',
    outcome: answer.kind,
    ...(answer.kind !== 'permit' && { reason: answer.reason }),
    ...(answer.kind !== 'failed' && { policies: answer.policies }),
    ...(typeof tool === 'string' && { tool }),
    subject: subject.id,
  };
  const message = `decision: ${answer.kind}`;
  if (isAgain || answer.kind === 'requestable') log.info(facts, message);
  else log.debug(facts, message);
  if (answer.kind !== 'failed') return;
  const request = { action: action.name, resourceType: resource.type, resource: resource.id };
  log.error(
    { ...versionOf(asked), alarm: 'evaluation_failed', cause: answer.cause, ...request },
    'denied, because the request could not be evaluated: correct the policy, the schema or the caller',
  );
}

async function answerFirst(deps: DecideWith, answer: PolicyAnswer, asked: Asked): Promise<DecisionBody> {
  if (answer.kind === 'permit') return { decision: true };
  if (answer.kind !== 'requestable') return deny(answer.reason);
  const offer = await makeOffer(deps, answer, asked);
  return offer ? deny(answer.reason, offer) : deny(UNAVAILABLE);
}

/** The request came with an approval, so a denial says what can be done next. @see ARAP, outcome of a denied re-evaluation */
async function answerAgain(
  deps: DecideWith,
  { answer, verdict }: { answer: PolicyAnswer; verdict: ApprovalVerdict },
  asked: Asked,
): Promise<DecisionBody> {
  if (answer.kind === 'permit') {
    if (verdict.kind !== 'verified') return { decision: true };
    return { decision: true, context: { approval: { id: verdict.id, approved_until: verdict.approvedUntil } } };
  }
  const stop = (reason: string) => deny(reason, { next_action: 'none' });
  if (answer.kind === 'failed') return stop(answer.reason);
  if (verdict.kind === 'unverifiable') {
    const facts = { ...versionOf(asked), resource: asked.request.resource.id };
    deps.log.warn(facts, 'an approval was presented that cannot be verified');
    return stop('approval_unverifiable');
  }
  if (answer.kind === 'deny') return stop('policy_denied');
  if (verdict.kind === 'undecided') {
    deps.log.error(
      { ...versionOf(asked), alarm: 'keys_unavailable' },
      'keys or revocations of the access request service cannot be fetched; is it running?',
    );
    return deny('grant_pending', { next_action: 'retry', retry_after: RETRY_AFTER_SECONDS });
  }
  // Another approval can cure this: the presented one is over, is for another request, or has another template.
  const reason = verdict.kind === 'expired' ? 'approval_expired' : 'out_of_scope';
  const offer = await makeOffer(deps, answer, asked);
  if (offer) return deny(reason, { next_action: 'request', ...offer });
  // Not `none`: the caller would then give up, although it can go on as soon as the denial can be recorded.
  return deny(UNAVAILABLE, { next_action: 'retry', retry_after: RETRY_AFTER_SECONDS });
}

/** Signs and records what makes a denial requestable. Undefined if either fails: then the denial offers nothing (ARAP-DEN-08). */
async function makeOffer(
  deps: DecideWith,
  answer: Requestable,
  asked: Asked,
): Promise<Record<string, unknown> | undefined> {
  try {
    const { policies, request, requester } = asked;
    const listedTemplates = templatesIn(answer.template).filter((one) => policies.isListed?.(one));
    const denied = { request, requester, offer: answer, listedTemplates, policyVersion: policies.id };
    const denial = bindDenial(denied, { ttlSeconds: deps.denialTtlSeconds, now: deps.clock.now() });
    const [bindingToken] = await Promise.all([deps.signBindingToken(denial), deps.evaluations.record(denial)]);
    const schemaPath = policies.requestSchemaPath(answer.template);
    const catalogsUrl = schemaPath && deps.requestCatalogsUrl(answer.template, denial.evaluationId);
    return {
      evaluation_id: denial.evaluationId,
      evaluated_at: denial.evaluatedAt.toISOString(),
      access_request: {
        endpoint: deps.accessRequests,
        template: answer.template,
        expires_at: denial.expiresAt.toISOString(),
        binding_token: bindingToken,
        ...(schemaPath !== undefined && { request_schema_url: deps.url.replace(/\/+$/, '') + schemaPath }),
        ...(catalogsUrl !== undefined && { request_catalogs_url: catalogsUrl }),
        ...displayOf(answer),
      },
    };
  } catch (err) {
    const facts = { ...versionOf(asked), alarm: 'denial_not_recorded', err };
    deps.log.error(
      facts,
      'a denial could not be signed or recorded, so it offers no access request and the caller has to retry: check the database',
    );
    return undefined;
  }
}

function deny(reason: string, more: Record<string, unknown> = {}): DecisionBody {
  return { decision: false, context: { reason, ...more } };
}

/**
 * The decision with its obligations and the version of the policies. Our own gateway and worker put decisions on record, so the
 * PDP tells them which policies determined this one. Ids of policies are no concern of other enforcement points (ARAP-DEN-19).
 */
function stamped(body: DecisionBody, answer: PolicyAnswer, { requester, policies }: Asked): DecisionBody {
  const determining = answer.kind === 'failed' || requester !== PEP_CLIENT_ID ? [] : answer.policies;
  const named = determining.length > 0 && { [POLICIES_MEMBER]: determining };
  const { context, ...decision } = withObligations(body, answer);
  return { ...decision, context: { ...context, ...named, [POLICY_VERSION_MEMBER]: policies.id } };
}
