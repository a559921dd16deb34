import { CountersignError } from '../../workflows/domain/errors.ts';
import type { CallBinding } from '../../workflows/domain/gated-call/call-binding.ts';
import type { InvocationResult, PolicyDecisionPoint, Upstreams, UpstreamTool } from '../../workflows/domain/ports.ts';
import type { RequirementChecks } from '../../workflows/domain/tools/requirements.ts';
import type { AcceptedTools } from '../../workflows/domain/tools/signature.ts';
import type { ToolFacts } from '../../workflows/domain/tools/tool-facts.ts';
import type { ArgumentCheck } from '../shared/schemas/schema-check.ts';
import type { Redaction } from './redaction.ts';
import type { AskedRound, RequestableCall } from './input/request-approval.ts';
import { callScope, openRound } from './input/rounds.ts';
import { answerHeld, type LadderDeps } from './ladder.ts';
import { bindCall } from './tools/bind-call.ts';
import type { ToolCall, ToolCallAnswer } from './tools/tool-call.ts';

export interface EnforcementDeps extends LadderDeps {
  readonly pdp: PolicyDecisionPoint;
  readonly upstreams: Pick<Upstreams, 'find' | 'call'>;
  readonly signature: AcceptedTools;
  readonly requirements: RequirementChecks;
  readonly redaction: Pick<Redaction, 'withholds' | 'ofResult'>;
  readonly checkArguments: ArgumentCheck;
  readonly settings: LadderDeps['settings'] & {
    /** Limit on one forwarded call. */
    readonly executionTimeoutMs: number;
  };
}

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
    });
    if ('problem' in bound) return { kind: 'invalid_arguments', problem: bound.problem };
    const { requestState } = call;
    const asked = (await openRound(deps.handles, callScope(bound), requestState)) as AskedRound | undefined;
    const missing = await missingRequirements(deps, call, tool);
    if (missing.length > 0) return { kind: 'requirements_unmet', requirements: missing };
    const onTool = { tool, binding: bound, asked };
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

/** The tool as it is known now, and the call of it. */
interface BoundTool extends Pick<RequestableCall, 'binding' | 'asked'> {
  readonly tool: UpstreamTool;
}

/** `undefined` when the decision has to be taken again. */
async function decideAndAct(
  deps: EnforcementDeps,
  call: ToolCall,
  { tool, binding, asked }: BoundTool,
): Promise<ToolCallAnswer | undefined> {
  const decision = await deps.pdp.evaluate(binding.evaluation);
  switch (decision.kind) {
    case 'allow':
      return call.rung === 'reference' ? { kind: 'not_needed' } : forward(deps, call, { tool, binding });
    case 'requestable':
      // Whoever runs a tool before each prompt waits for nobody's approval (PRE-009).
      if (tool.facts.preprocessor) return { kind: 'denied' };
      return answerHeld(deps, call, { binding, decision, asked });
    case 'deny':
      return { kind: 'denied' };
    case 'retry':
      // No approval was presented that could become usable: there is nothing to wait for.
      return { kind: 'denied' };
  }
}

const NOTHING_ON_ITS_WAY: Pick<ToolCall, 'onProgress' | 'onLog'> = {};

async function forward(
  deps: EnforcementDeps,
  call: ToolCall,
  { tool, binding }: Omit<BoundTool, 'asked'>,
): Promise<InvocationResult> {
  const { upstream, upstreamTool, toolDigest, caller } = binding;
  const { arguments: args, meta } = call;
  // What a tool says on its way may be a part of its result.
  const { onProgress, onLog } = deps.redaction.withholds(tool.facts) ? NOTHING_ON_ITS_WAY : call;
  const result = await deps.upstreams.call(
    { upstream, upstreamTool, toolDigest, arguments: args, caller, ...(meta !== undefined && { meta }) },
    {
      signal: call.signal,
      timeoutMs: deps.settings.executionTimeoutMs,
      ...(onProgress !== undefined && { onProgress }),
      ...(onLog !== undefined && { onLog }),
    },
  );
  noteAllowedCall(deps, binding, { facts: tool.facts, result });
  return deps.redaction.ofResult(tool.facts, result);
}

/** The only trace of a call that needed no approval. How loud it is depends on what the tool does (HINT-009). */
function noteAllowedCall(
  { log }: EnforcementDeps,
  { tool, caller }: CallBinding,
  { facts, result }: { facts: ToolFacts; result: InvocationResult },
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
