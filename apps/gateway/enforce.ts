import type { Logger } from 'pino';
import type { Decision } from '../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type Json, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { callDigest, type CallBinding } from '../../workflows/domain/gated-call/call-binding.ts';
import { newSubmission, type SubmissionSettings } from '../../workflows/domain/gated-call/new-submission.ts';
import type {
  EnsureSubmitted,
  GatedCalls,
  GatedCallView,
  InvocationResult,
  PolicyDecisionPoint,
  Upstreams,
  UpstreamTool,
} from '../../workflows/domain/ports.ts';
import { ownerKey, type Principal } from '../../workflows/domain/principal.ts';
import { evaluationRequest } from './evaluation-request.ts';
import type { ArgumentCheck } from './upstreams/argument-check.ts';
import { randomText } from '../shared/random-text.ts';
import { sha256 } from '../shared/sha256.ts';

/** One `tools/call` of an authenticated caller. */
export interface ToolCall {
  readonly caller: Principal;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** What of the call's metadata the upstream may see. */
  readonly meta?: JsonObject | undefined;
  /** Whether this request can be answered with a task. */
  readonly acceptsTask: boolean;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
}

/** What became of a call. */
export type ToolCallAnswer =
  | InvocationResult
  | { readonly kind: 'task'; readonly view: GatedCallView }
  | { readonly kind: 'denied' }
  | { readonly kind: 'too_many' }
  /** An approval could be requested, but the client cannot hold a task. Nothing was opened. */
  | { readonly kind: 'needs_tasks' }
  | { readonly kind: 'invalid_arguments'; readonly problem: string };

export interface EnforcementDeps {
  readonly pdp: PolicyDecisionPoint;
  readonly gatedCalls: Pick<GatedCalls, 'open' | 'findTask'>;
  readonly ensureSubmitted: EnsureSubmitted;
  readonly upstreams: Pick<Upstreams, 'find' | 'call'>;
  readonly checkArguments: ArgumentCheck;
  readonly settings: SubmissionSettings & {
    /** Limit on one forwarded call. */
    readonly executionTimeoutMs: number;
  };
  readonly log: Logger;
}

/** The policy enforcement point: nothing reaches a tool but through it. Throws `CountersignError`s; then nothing ran. */
export type Enforce = (call: ToolCall) => Promise<ToolCallAnswer>;

type Requestable = Extract<Decision, { kind: 'requestable' }>;

/** Deeper arguments are refused here, with a reason, before a service that follows them less far fails over them. */
const MAX_DEPTH = 64;

export function createEnforcement(deps: EnforcementDeps): Enforce {
  return async (call) => {
    const tool = await deps.upstreams.find(call.tool);
    if (tool === undefined) throw new CountersignError('ERR_TOOL_NOT_FOUND', 'no upstream has this tool');
    const bound = bind(deps, call, tool);
    if ('problem' in bound) return { kind: 'invalid_arguments', problem: bound.problem };
    const answer = await decideAndAct(deps, call, bound);
    // The call that this one would have joined ended meanwhile, or its denial got too old: the decision is taken once more.
    return answer ?? (await decideAndAct(deps, call, bound)) ?? busy();
  };
}

/** Captures the call before anything is asked about it: what is decided on is what will run. */
function bind(deps: EnforcementDeps, call: ToolCall, tool: UpstreamTool): CallBinding | { problem: string } {
  let text: string;
  if (!isNestedWithin(call.arguments, MAX_DEPTH))
    return { problem: `they are nested more than ${MAX_DEPTH} levels deep` };
  try {
    text = canonicalJson(call.arguments);
  } catch {
    return { problem: 'they have no canonical JSON form (a number out of range or a broken character)' };
  }
  const problem = deps.checkArguments(tool, call.arguments);
  if (problem !== undefined) return { problem };
  const digest = callDigest({ tool: tool.name, arguments: call.arguments }, sha256);
  return {
    tool: tool.name,
    upstream: tool.upstream,
    upstreamTool: tool.upstreamTool,
    arguments: text,
    callDigest: digest,
    toolDigest: tool.digest,
    caller: call.caller,
    evaluation: evaluationRequest(call.caller, tool, { arguments: call.arguments, callDigest: digest }),
  };
}

function isNestedWithin(value: Json, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  return levels > 0 && Object.values(value).every((member: Json) => isNestedWithin(member, levels - 1));
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
  const { upstream, upstreamTool } = binding;
  return deps.upstreams.call(
    { upstream, upstreamTool, arguments: call.arguments, ...(call.meta !== undefined && { meta: call.meta }) },
    { signal: call.signal, timeoutMs: deps.settings.executionTimeoutMs },
  );
}

/**
 * Opens the gated call, or joins the open one for the same call, and hands its task out only when the access request
 * service has given its handle. Nothing is opened for a caller that has gone. One that goes later changes nothing: what is
 * opened is submitted, and a repeated call finds the same task.
 */
async function openTask(
  deps: EnforcementDeps,
  { signal }: ToolCall,
  { binding, decision }: { binding: CallBinding; decision: Requestable },
): Promise<ToolCallAnswer | undefined> {
  const { accessRequestsUrl } = deps.settings;
  const { evaluation, caller } = binding;
  if (decision.offer.endpoint !== undefined && decision.offer.endpoint !== accessRequestsUrl) {
    deps.log.error('a denial names a submission address that is not the configured one; it is not requestable');
    return { kind: 'denied' };
  }
  const submission = newSubmission({ evaluation, caller, denial: decision, generation: 1 }, deps.settings, randomText);
  const opened = await deps.gatedCalls.open({ binding, decision, submission }, signal);
  if (opened.kind === 'gone') return undefined;
  if (opened.kind === 'too_many') return { kind: 'too_many' };
  if (opened.kind === 'unwanted') return { kind: 'not_sent', cause: 'the caller has gone' };
  try {
    const view =
      (await deps.ensureSubmitted(opened)) ?? (await deps.gatedCalls.findTask(opened.taskId, ownerKey(caller)));
    return view && { kind: 'task', view };
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (error.code === 'ERR_NOT_REQUESTABLE') return { kind: 'denied' };
    if (error.code === 'ERR_DENIAL_EXPIRED') return undefined;
    throw error;
  }
}

function busy(): never {
  throw new CountersignError('ERR_DATABASE_UNAVAILABLE', 'identical calls keep ending while this one is opened');
}
