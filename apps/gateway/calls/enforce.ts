import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type { Upstreams, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { RelayedAnswer } from '../../../workflows/domain/relay-port.ts';
import type { RequirementChecks } from '../../../workflows/domain/tools/requirements.ts';
import type { AcceptedTools } from '../../../workflows/domain/tools/signature.ts';
import type { ToolFacts } from '../../../workflows/domain/tools/tool-facts.ts';
import type { ArgumentCheck } from '../../shared/schemas/schema-check.ts';
import { answerHeld, type LadderDeps } from './hold.ts';
import { forwardCall, handOn, type CallOnTool, type ForwardingDeps } from './forward.ts';
import { callScope, openRound } from '../extensions/sealed-state.ts';
import type { Questions } from './evaluation-requests.ts';
import { bindCall } from './bind.ts';
import type { ToolCall, ToolCallAnswer } from './tool-call.ts';
import { joinDecisions } from '../../../workflows/domain/authzen/several-decisions.ts';
import type { Decision } from '../../../workflows/domain/authzen/evaluation.ts';

export interface EnforcementDeps extends LadderDeps, ForwardingDeps {
  readonly pdp: PolicyDecisionPoint;
  readonly questions: Pick<Questions, 'ofCall'>;
  readonly upstreams: Pick<Upstreams, 'find'> & ForwardingDeps['upstreams'];
  readonly signature: AcceptedTools;
  readonly requirements: RequirementChecks;
  readonly checkArguments: ArgumentCheck;
  readonly settings: LadderDeps['settings'] & ForwardingDeps['settings'];
}

/** Our PDP's reason where no policy permits a call and none forbids it. Of another PDP's reasons no caller is told. */
const NOT_PERMITTED = 'not_permitted';

/** The policy enforcement point: nothing reaches a tool but through it. Throws `CountersignError`s, and what `checkHeaders` does; then nothing ran. */
export type Enforce = (call: ToolCall) => Promise<ToolCallAnswer>;

export function createEnforcement(deps: EnforcementDeps): Enforce {
  return async (call) => {
    const tool = await deps.upstreams.find(call.tool);
    if (tool === undefined) throw new CountersignError('ERR_TOOL_NOT_FOUND', 'no upstream has this tool');
    // Before anything that the tool says of itself is used, its schema first of all.
    const [accepted] = await deps.signature.among([tool]);
    if (accepted === undefined) return { kind: 'not_accepted' };
    call.checkHeaders?.(tool.facts.headers.mirrored);
    const bound = bindCall(call, tool, {
      checkArguments: deps.checkArguments,
      claimNames: deps.requirements.claimNames,
      questions: deps.questions,
    });
    if ('problem' in bound || 'unusable' in bound) return { kind: 'unfit', fault: bound };
    const round = await openRound(deps.handles, callScope(bound), call.requestState);
    const missing = await missingRequirements(deps, call, tool);
    if (missing.length > 0) return { kind: 'requirements_unmet', requirements: missing };
    const onTool = { tool, binding: bound, round };
    const answer = await decideAndAct(deps, call, onTool);
    // The call that this one would have joined ended meanwhile, or its denial got too old: the decision is taken once more.
    return answer ?? (await decideAndAct(deps, call, onTool)) ?? busy();
  };
}

/** Requirements that are not met, or that cannot be looked at. While there is one, nothing is asked about the call (REQ-014). */
async function missingRequirements(
  { requirements: checks }: EnforcementDeps,
  { caller, claims }: ToolCall,
  { name, facts: { requirements } }: UpstreamTool,
): Promise<readonly string[]> {
  const { unmet, undecided } = await checks.check({ requirements, tool: name, caller, claims });
  return requirements.filter((one) => unmet.includes(one) || undecided.includes(one));
}

/** `undefined` when the decision has to be taken again. */
async function decideAndAct(
  deps: EnforcementDeps,
  call: ToolCall,
  { tool, binding: bound, round }: CallOnTool,
): Promise<ToolCallAnswer | undefined> {
  const { decision, binding } = await decide(deps.pdp, bound);
  switch (decision.kind) {
    case 'allow':
      return call.rung === 'reference' ? { kind: 'not_needed' } : forward(deps, call, { tool, binding, round });
    case 'requestable':
      // Whoever runs a tool before each prompt waits for nobody's approval (PRE-009).
      if (tool.facts.preprocessor) return { kind: 'denied' };
      // What the upstream was told and asked so far would be lost on a call that waits, and begins anew.
      if (round?.kind === 'relayed_round') return { kind: 'not_continued' };
      return answerHeld(deps, call, { binding, decision, asked: round });
    case 'deny':
      if (decision.unmet?.stepUps) return { kind: 'step_up', stepUps: decision.unmet.stepUps };
      return { kind: 'denied', ...(decision.reason === NOT_PERMITTED && { why: NOT_PERMITTED }) };
    case 'retry':
      // No approval was presented that could become usable: there is nothing to wait for.
      return { kind: 'denied' };
  }
}

async function forward(deps: EnforcementDeps, call: ToolCall, onTool: CallOnTool): Promise<ToolCallAnswer> {
  const { tool, binding } = onTool;
  const answer = await forwardCall(deps, call, onTool);
  noteAllowedCall(deps, binding, { facts: tool.facts, result: answer });
  return handOn(deps, call, { tool, binding, answer });
}

/** The only trace of a call that needed no approval. How loud it is depends on what the tool does (HINT-009). */
function noteAllowedCall(
  { log }: EnforcementDeps,
  { tool, caller }: CallBinding,
  { facts, result }: { facts: ToolFacts; result: RelayedAnswer },
): void {
  const { subject, clientId } = caller;
  const outcome = result.kind === 'result' && result.isError ? 'tool_error' : result.kind;
  log[facts.auditLevel](
    { audit: 'allowed_call', tool, effect: facts.hints.effect, subject, clientId, outcome },
    'a call was allowed',
  );
}

function busy(): never {
  throw new CountersignError('ERR_DATABASE_UNAVAILABLE', 'identical calls keep ending while this one is opened');
}

/** The decision on a call, and the call bound to the question that it is about: the one that an approval would be for. */
export interface Decided {
  readonly decision: Decision;
  readonly binding: CallBinding;
}

/** Puts the questions of a call: one, or all of a mapping with several at once. Throws `ERR_PDP_UNAVAILABLE`. */
export async function decide(pdp: PolicyDecisionPoint, binding: CallBinding): Promise<Decided> {
  const { evaluation, others, claims } = binding;
  if (others === undefined) return { decision: await pdp.evaluate(evaluation, undefined, claims), binding };
  const questions = [evaluation, ...others];
  const { decision, about } = joinDecisions(await pdp.evaluateAll(questions, claims));
  return {
    decision,
    binding: {
      ...binding,
      evaluation: questions[about] ?? evaluation,
      others: questions.filter((_question, index) => index !== about),
    },
  };
}
