import { CountersignError } from '../../workflows/domain/errors.ts';
import type { CallBinding } from '../../workflows/domain/gated-call/call-binding.ts';
import type { InvocationResult, PolicyDecisionPoint, Upstreams, UpstreamTool } from '../../workflows/domain/ports.ts';
import type { RequirementChecks } from '../../workflows/domain/tools/requirements.ts';
import { openTask, type TaskOpeningDeps } from './open-task.ts';
import type { ArgumentCheck } from './tools/argument-check.ts';
import { bindCall } from './tools/bind-call.ts';
import type { ToolCall, ToolCallAnswer } from './tools/tool-call.ts';

export interface EnforcementDeps extends TaskOpeningDeps {
  readonly pdp: PolicyDecisionPoint;
  readonly upstreams: Pick<Upstreams, 'find' | 'call'>;
  readonly requirements: RequirementChecks;
  readonly checkArguments: ArgumentCheck;
  readonly settings: TaskOpeningDeps['settings'] & {
    /** Limit on one forwarded call. */
    readonly executionTimeoutMs: number;
  };
}

/** The policy enforcement point: nothing reaches a tool but through it. Throws `CountersignError`s; then nothing ran. */
export type Enforce = (call: ToolCall) => Promise<ToolCallAnswer>;

export function createEnforcement(deps: EnforcementDeps): Enforce {
  return async (call) => {
    const tool = await deps.upstreams.find(call.tool);
    if (tool === undefined) throw new CountersignError('ERR_TOOL_NOT_FOUND', 'no upstream has this tool');
    const bound = bindCall(call, tool, {
      checkArguments: deps.checkArguments,
      claimNames: deps.requirements.claimNames,
    });
    if ('problem' in bound) return { kind: 'invalid_arguments', problem: bound.problem };
    const missing = await missingRequirements(deps, call, tool);
    if (missing.length > 0) return { kind: 'requirements_unmet', requirements: missing };
    const answer = await decideAndAct(deps, call, bound);
    // The call that this one would have joined ended meanwhile, or its denial got too old: the decision is taken once more.
    return answer ?? (await decideAndAct(deps, call, bound)) ?? busy();
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
  binding: CallBinding,
): Promise<ToolCallAnswer | undefined> {
  const decision = await deps.pdp.evaluate(binding.evaluation);
  switch (decision.kind) {
    case 'allow':
      return forward(deps, call, binding);
    case 'requestable':
      return call.acceptsTask ? openTask(deps, call, { binding, decision }) : { kind: 'needs_tasks' };
    case 'deny':
      return { kind: 'denied' };
    case 'retry':
      // No approval was presented that could become usable: there is nothing to wait for.
      return { kind: 'denied' };
  }
}

function forward(deps: EnforcementDeps, call: ToolCall, binding: CallBinding): Promise<InvocationResult> {
  const { upstream, upstreamTool, caller } = binding;
  const { arguments: args, meta } = call;
  return deps.upstreams.call(
    { upstream, upstreamTool, arguments: args, caller, ...(meta !== undefined && { meta }) },
    { signal: call.signal, timeoutMs: deps.settings.executionTimeoutMs },
  );
}

function busy(): never {
  throw new CountersignError('ERR_DATABASE_UNAVAILABLE', 'identical calls keep ending while this one is opened');
}
