import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type { Upstreams, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { scopesFor } from '../../shared/auth/client-credentials.ts';
import type { Config } from '../../shared/config/config.ts';
import type { RequirementChecks } from '../../../workflows/domain/tools/requirements.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { ArgumentChecks } from '../../shared/schemas/schema-check.ts';
import { enterAdmission, leaveAdmission } from './admission.ts';
import { argumentsText, bindCall, type BindingDeps } from './bind.ts';
import { type MappedArguments, refused, type RelayedRounds, type ToolCall, type ToolCallAnswer } from './tool-call.ts';
import { forward, type AllowedCall, type ForwardingDeps } from './forward.ts';
import { followPage, hold, type HoldingDeps } from './hold.ts';

export type EnforcementDeps = BindingDeps &
  HoldingDeps &
  ForwardingDeps & {
    readonly pdp: PolicyDecisionPoint;
    readonly upstreams: Pick<Upstreams, 'find'>;
    readonly accepted: Accepted;
    readonly argumentChecks: ArgumentChecks;
    readonly requirements: RequirementChecks;
    readonly mappedArguments: MappedArguments;
    readonly relayedRounds: RelayedRounds;
    readonly config: Pick<Config, 'gateway' | 'tools'>;
    /** The configuration in force: another object after each change. */
    readonly inForce: () => object;
  };

/** The embedded PDP's reason if no policy permits a call and none forbids it. Reasons of other PDPs are not shown to callers. */
const NOT_PERMITTED = 'not_permitted';

export type Enforce = (call: ToolCall) => Promise<ToolCallAnswer>;

/** How often a call is decided on anew because something changed on its way, until its caller has to try again. */
const MAX_ATTEMPTS = 10;

/**
 * The policy enforcement point: no call reaches a tool by another way. Find the tool, bind the call, decide on it; then forward it, hold
 * it or refuse it. Throws `CountersignError`s, and the error of `checkHeaders`; then nothing ran.
 */
export function createEnforcement(deps: EnforcementDeps): Enforce {
  return async (call) => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const answer = await attemptCall(deps, call);
      if (answer !== undefined) return answer;
    }
    throw new CountersignError('ERR_PDP_UNAVAILABLE', 'the configuration keeps changing while this call is decided on');
  };
}

/**
 * One call by one whole configuration. `undefined` when another came into force before the decision, or when the upstream was configured
 * anew before the call was sent. Nothing ran then, and the call is taken from the beginning.
 */
async function attemptCall(deps: EnforcementDeps, asked: ToolCall): Promise<ToolCallAnswer | undefined> {
  const configuration = deps.inForce();
  demandHeldScopes(deps, asked);
  const tool = await find(deps, asked);
  if (tool === undefined) return refused({ reason: 'not_accepted' });
  // The official clients reject a result without the structured part that the tool's output schema announces, unless it is an error.
  const call = tool.definition['outputSchema'] === undefined ? asked : { ...asked, heldIsError: true };
  call.checkHeaders?.(tool.facts.headers.mirrored);
  const args = argumentsText(call.arguments);
  if ('problem' in args) return refused({ reason: 'unfit', fault: args });
  // An upstream could state a schema that costs much for a tool that no one may call. Then policy comes first.
  const isUnchecked = deps.argumentChecks.isCostly(tool);
  const unfit = isUnchecked ? undefined : await deps.argumentChecks.check(tool, call.arguments);
  if (unfit !== undefined) return refused({ reason: 'unfit', fault: unfit });
  const binding = bindCall(deps, call, { tool, text: args.text });
  const round = await deps.relayedRounds.open(binding, call.requestState);
  // Not decided on: the call is held already, and the client only asks how it ended.
  if (round?.kind === 'approval_page') return followPage(deps, call, round);
  const requirements = await missingRequirements(deps, call, tool);
  if (requirements.length > 0) return refused({ reason: 'requirements_unmet', requirements });
  const bound = { tool, binding, round, configuration, isUnchecked };
  await enterAdmission();
  try {
    // If the open call that this one would join has just ended, or the denial has expired: decide once more.
    const answer = (await decideAndAct(deps, call, bound)) ?? (await decideAndAct(deps, call, bound));
    if (answer === CHANGED) return undefined;
    if (answer !== undefined) return answer;
  } finally {
    // Also after a failure, and not in the caller: the answer to a call may be on a stream that began before the call entered.
    leaveAdmission();
  }
  throw new CountersignError('ERR_DATABASE_UNAVAILABLE', 'identical calls keep ending while this one is opened');
}

/** The scopes were checked before the body was read. The tool may need others since then. */
function demandHeldScopes({ config }: EnforcementDeps, { tool, scopes }: ToolCall): void {
  if (scopes === undefined || scopesFor(config, tool).every((scope) => scopes.includes(scope))) return;
  throw new CountersignError('ERR_PDP_UNAVAILABLE', 'the tool needs other scopes since the request came');
}

/** `undefined` for a tool whose description is not the accepted one: no part of that description is used. */
async function find({ upstreams, accepted }: EnforcementDeps, call: ToolCall): Promise<UpstreamTool | undefined> {
  const tool = await upstreams.find(call.tool);
  if (tool === undefined) throw new CountersignError('ERR_TOOL_NOT_FOUND', 'no upstream has this tool');
  const [described] = await accepted.among([tool]);
  return described;
}

/** Requirements that are not met or cannot be checked. If there is one, the PDP is not asked about the call (REQ-014). */
async function missingRequirements(
  { requirements: checks }: EnforcementDeps,
  { caller, claims }: ToolCall,
  { name, facts: { requirements } }: UpstreamTool,
): Promise<readonly string[]> {
  if (requirements.length === 0) return [];
  const { unmet, undecided } = await checks.check({ requirements, tool: name, caller, claims });
  return requirements.filter((one) => unmet.includes(one) || undecided.includes(one));
}

/** Another configuration is in force than the one that the call was bound by. */
const CHANGED = 'changed';

interface DecidedOn extends AllowedCall {
  /** In force when the call was bound. */
  readonly configuration: object;
  /** Whether the arguments still have to be checked, before anything is opened or sent (TOOL-008). */
  readonly isUnchecked: boolean;
}

/** `undefined` when the decision has to be taken again. */
async function decideAndAct(
  deps: EnforcementDeps,
  call: ToolCall,
  { tool, binding: bound, round, configuration, isUnchecked }: DecidedOn,
): Promise<ToolCallAnswer | typeof CHANGED | undefined> {
  const { decision, binding } = await decide(deps, bound);
  const isOpen = decision.kind === 'allow' || decision.kind === 'requestable';
  const fault = isUnchecked && isOpen ? await deps.argumentChecks.check(tool, call.arguments) : undefined;
  // Otherwise rules would decide on facts that the settings of another configuration say.
  if (deps.inForce() !== configuration) return CHANGED;
  if (fault !== undefined) return refused({ reason: 'unfit', fault });
  switch (decision.kind) {
    case 'allow':
      if (call.onHold === 'reference') return refused({ reason: 'not_needed' });
      leaveAdmission();
      return (await forward(deps, call, { tool, binding, round })) ?? CHANGED;
    case 'requestable':
      // A client runs a preprocessor before each prompt and does not wait for approvals (PRE-009).
      if (tool.facts.preprocessor) return refused({ reason: 'denied' });
      // A held call starts from the beginning, so the exchange with the upstream would be lost.
      if (round?.kind === 'relayed_round') return refused({ reason: 'not_continued' });
      return hold(deps, call, { binding, decision, asked: round });
    case 'deny':
      if (decision.unmet?.stepUps) return refused({ reason: 'step_up', stepUps: decision.unmet.stepUps });
      return refused({ reason: 'denied', ...(decision.reason === NOT_PERMITTED && { why: NOT_PERMITTED }) });
    case 'retry':
      // The call presented no approval that could become usable, so there is nothing to wait for.
      return refused({ reason: 'denied' });
  }
}

/** The decision on a call, and the call bound to the evaluation request that an approval would be for. Throws `ERR_PDP_UNAVAILABLE`. */
async function decide(
  { pdp, mappedArguments }: EnforcementDeps,
  binding: CallBinding,
): ReturnType<MappedArguments['decide']> {
  if (binding.others !== undefined) return mappedArguments.decide(pdp, { ...binding, others: binding.others });
  return { decision: await pdp.evaluate(binding.evaluation, undefined, binding.claims), binding };
}
