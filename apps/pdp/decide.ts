import type { Logger } from 'pino';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { SUPPORTED_MEMBER } from '../../workflows/domain/authzen/obligation.ts';
import type { Clock } from '../shared/clock.ts';
import { bindDenial, type SignBindingToken } from './binding-token.ts';
import type { ApprovalVerdict, VerifyApproval } from './cedar/facts.ts';
import type { PolicyAnswer, Requestable } from './cedar/requestable.ts';
import { withinSupport, withObligations } from './obligations.ts';
import type { PolicyEngine } from './policy-engine.ts';
import type { EvaluationStore } from './stores/evaluation.store.ts';

/** Body of an access evaluation response. */
export interface DecisionBody {
  readonly decision: boolean;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** Answers one access evaluation. Never throws for want of a signature or a database, it then denies; but when nothing decides. */
export type Decide = (request: EvaluationRequest, requester: string) => Promise<DecisionBody>;

/** How one request was answered, for whoever keeps a log of it. */
export interface Decided {
  /** Without `context.approval`, which is a credential. */
  readonly request: EvaluationRequest;
  readonly requester: string;
  readonly answer: PolicyAnswer;
  /** Template of the approval that was presented and verified. */
  readonly approvedFor: string | undefined;
}

export interface DecideWith {
  readonly engine: PolicyEngine;
  /** Id of the version that the engine is of. */
  readonly policyVersion: string;
  readonly verifyApproval: VerifyApproval;
  readonly signBindingToken: SignBindingToken;
  readonly evaluations: Pick<EvaluationStore, 'record'>;
  /** Submission URL of the access request service. */
  readonly accessRequests: string;
  /** Where it says what a request of this template needs beside the call; undefined when it needs nothing. */
  readonly requestSchemaUrl: (template: string) => string | undefined;
  /** Where it says from which catalogs values are chosen; undefined when none are. Of no use without the schema. */
  readonly requestCatalogsUrl: (template: string, evaluationId: string) => string | undefined;
  readonly denialTtlSeconds: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Adds what an answer rests on. */
  readonly stamp?: (body: DecisionBody, of: Pick<Decided, 'answer' | 'requester'>) => DecisionBody;
  /** Told of every evaluation, before it is answered; may neither throw nor wait. */
  readonly note?: (decided: Decided) => void;
}

/** What a PEP is told to wait while something that the answer needs is away. */
const RETRY_AFTER_SECONDS = 5;
/** Reason of a denial that an access request could cure, and that cannot be put on record now. */
const UNAVAILABLE = 'access_request_unavailable';

export function createDecide(deps: DecideWith): Decide {
  const { stamp = (body) => body } = deps;
  return async (request, requester) => {
    // What the enforcement point can do is nothing that is decided on, and binds nothing: it may be another by the time of an approval.
    const { approval, [SUPPORTED_MEMBER]: declared, ...context } = request.context;
    const bare = { ...request, context };
    const asked = { request: bare, requester, supported: (declared ?? undefined) as readonly string[] | undefined };
    // A member that is null counts as left out (AZ-TR-14).
    if (approval === undefined || approval === null) {
      const answer = await ask(deps, asked);
      return stamp(withObligations(await answerFirst(deps, answer, asked), answer), { answer, requester });
    }
    const visible = deps.engine.contextOf(request.action.name);
    const verdict = await deps.verifyApproval({ approval, request: bare, requester, visible });
    const answer = await ask(deps, asked, verdict);
    return stamp(withObligations(await answerAgain(deps, { answer, verdict }, asked), answer), { answer, requester });
  };
}

interface Asked {
  readonly request: EvaluationRequest;
  readonly requester: string;
  /** Types of obligations that the enforcement point says it can comply with; undefined when it says nothing. */
  readonly supported: readonly string[] | undefined;
}

async function ask(
  deps: DecideWith,
  { request, requester, supported }: Asked,
  verdict?: ApprovalVerdict,
): Promise<PolicyAnswer> {
  const { engine, log, note } = deps;
  const approval = verdict?.kind === 'verified' ? verdict : undefined;
  const answer = withinSupport(await engine.answer(request, approval), supported);
  note?.({ request, requester, answer, approvedFor: approval?.facts.template });
  logAnswer(log, { request, answer, isAgain: verdict !== undefined });
  if (answer.kind === 'failed') {
    const { action, resource } = request;
    log.error(
      {
        alarm: 'evaluation_failed',
        cause: answer.cause,
        action: action.name,
        resourceType: resource.type,
        resource: resource.id,
      },
      'denied, because the request could not be evaluated: correct the policy, the schema or the caller',
    );
  }
  return answer;
}

/**
 * One line for each answer. What holds a call, and what is asked again with an approval, is told at the level that operators see;
 * everything else at `debug`, since allowed calls are many.
 */
function logAnswer(
  log: Logger,
  { request, answer, isAgain }: { request: EvaluationRequest; answer: PolicyAnswer; isAgain: boolean },
): void {
  const { subject, resource, context } = request;
  // A mapping may put an argument where the tool stands otherwise.
  const tool = resource.type === 'tool' ? resource.id : context['tool'];
  const facts = {
    event: 'decision',
    outcome: answer.kind,
    ...(answer.kind !== 'permit' && { reason: answer.reason }),
    ...(answer.kind !== 'failed' && { policies: answer.policies }),
    ...(typeof tool === 'string' && { tool }),
    subject: subject.id,
  };
  const words = `decision: ${answer.kind}`;
  if (isAgain || answer.kind === 'requestable') log.info(facts, words);
  else log.debug(facts, words);
}

async function answerFirst(deps: DecideWith, answer: PolicyAnswer, asked: Asked): Promise<DecisionBody> {
  if (answer.kind === 'permit') return { decision: true };
  if (answer.kind !== 'requestable') return deny(answer.reason);
  const offer = await makeOffer(deps, answer, asked);
  return offer ? deny(answer.reason, offer) : deny(UNAVAILABLE);
}

/** An approval was presented: a denial then says what can be done next. @see ARAP, outcome of a denied re-evaluation */
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
    deps.log.warn({ resource: asked.request.resource.id }, 'an approval was presented that cannot be verified');
    return stop('approval_unverifiable');
  }
  if (answer.kind === 'deny') return stop('policy_denied');
  if (verdict.kind === 'undecided') {
    deps.log.error(
      { alarm: 'keys_unavailable' },
      'keys or revocations of the access request service cannot be fetched; is it running?',
    );
    return deny('grant_pending', { next_action: 'retry', retry_after: RETRY_AFTER_SECONDS });
  }
  // What is left is curable by another approval: this one is over, is for something else, or has another template.
  const reason = verdict.kind === 'expired' ? 'approval_expired' : 'out_of_scope';
  const offer = await makeOffer(deps, answer, asked);
  if (offer) return deny(reason, { next_action: 'request', ...offer });
  // Not the last word: who read `none` here would end what can go on as soon as the denial can be put on record.
  return deny(UNAVAILABLE, { next_action: 'retry', retry_after: RETRY_AFTER_SECONDS });
}

/** Signs and records what makes a denial requestable; without either it is a plain denial (ARAP-DEN-08). */
async function makeOffer(
  deps: DecideWith,
  answer: Requestable,
  asked: Asked,
): Promise<Record<string, unknown> | undefined> {
  try {
    const { policyVersion, denialTtlSeconds: ttlSeconds, clock } = deps;
    const denial = bindDenial({ ...asked, offer: answer, policyVersion }, { ttlSeconds, now: clock.now() });
    const [bindingToken] = await Promise.all([deps.signBindingToken(denial), deps.evaluations.record(denial)]);
    const display = {
      ...(answer.title && { title: answer.title }),
      ...(answer.description && { description: answer.description }),
    };
    const schemaUrl = deps.requestSchemaUrl(answer.template);
    const catalogsUrl = schemaUrl && deps.requestCatalogsUrl(answer.template, denial.evaluationId);
    return {
      evaluation_id: denial.evaluationId,
      evaluated_at: denial.evaluatedAt.toISOString(),
      access_request: {
        endpoint: deps.accessRequests,
        template: answer.template,
        expires_at: denial.expiresAt.toISOString(),
        binding_token: bindingToken,
        ...(schemaUrl !== undefined && { request_schema_url: schemaUrl }),
        ...(catalogsUrl !== undefined && { request_catalogs_url: catalogsUrl }),
        ...(Object.keys(display).length > 0 && { display }),
      },
    };
  } catch (error) {
    deps.log.error({ alarm: 'denial_not_recorded', err: error }, 'a requestable denial was answered as a plain one');
    return undefined;
  }
}

function deny(reason: string, more: Record<string, unknown> = {}): DecisionBody {
  return { decision: false, context: { reason, ...more } };
}
