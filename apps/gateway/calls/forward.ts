import type { Logger } from 'pino';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type {
  InvocationResult,
  RelayedAnswer,
  UpstreamRelay,
  UpstreamTool,
} from '../../../workflows/domain/upstream-ports.ts';
import type { ToolFacts } from '../../../workflows/domain/tools/tool-facts.ts';
import type { Redaction } from '../extensions/redaction.ts';
import type { OpenedRound } from '../extensions/sealed-state.ts';
import { conversationOf } from '../wire/request-context.ts';
import type { RelayedRounds } from './extension-ports.ts';
import type { ToolCall, ToolCallAnswer } from './tool-call.ts';

export interface ForwardingDeps {
  readonly upstreams: Pick<UpstreamRelay, 'relay'>;
  readonly redaction: Pick<Redaction, 'withholds' | 'ofResult'>;
  readonly relayedRounds: Pick<RelayedRounds, 'handOn'>;
  readonly settings: {
    /** Limit on one forwarded call. */
    readonly executionTimeoutMs: number;
  };
  readonly log: Logger;
}

/** An allowed call of a tool, and the round of input that it comes back from. */
export interface AllowedCall {
  readonly tool: UpstreamTool;
  readonly binding: CallBinding;
  readonly round: OpenedRound | undefined;
}

const NOTHING_ON_ITS_WAY: Pick<ToolCall, 'onProgress' | 'onLog'> = {};

/** Sends an allowed call to its upstream, once, and answers what the caller gets of the answer. */
export async function forward(deps: ForwardingDeps, call: ToolCall, allowed: AllowedCall): Promise<ToolCallAnswer> {
  const { tool, binding } = allowed;
  const answer = await send(deps, call, allowed);
  noteAllowedCall(deps, binding, { facts: tool.facts, result: answer });
  const ran = (outcome: InvocationResult): ToolCallAnswer => ({
    kind: 'ran',
    outcome: deps.redaction.ofResult(tool.facts, outcome),
  });
  switch (answer.kind) {
    case 'result':
    case 'not_sent':
    case 'no_answer':
      return ran(answer);
    case 'error':
    case 'input_required':
    case 'task':
      return deps.relayedRounds.handOn(call, { tool, binding }, answer);
  }
}

/** What a tool asks or logs on its way may be a part of its result, so it is withheld where the result is. */
function send(
  { upstreams, redaction, settings }: ForwardingDeps,
  call: ToolCall,
  { tool, binding, round }: AllowedCall,
): Promise<RelayedAnswer> {
  const { upstream, upstreamTool, toolDigest, caller } = binding;
  const { arguments: args, meta, capabilities } = call;
  const isWithheld = redaction.withholds(tool.facts);
  const { onProgress, onLog } = isWithheld ? NOTHING_ON_ITS_WAY : call;
  // The result of a task can be withheld when it is read.
  const { extensions } = capabilities ?? {};
  const tasksAlone: JsonObject = extensions === undefined ? {} : { extensions };
  const asked = { ...call, capabilities: isWithheld ? tasksAlone : capabilities };
  return upstreams.relay(
    {
      ...{ upstream, upstreamTool, toolDigest, arguments: args, caller },
      ...(meta !== undefined && { meta }),
      conversation: conversationOf(asked, round),
    },
    {
      signal: call.signal,
      timeoutMs: settings.executionTimeoutMs,
      ...(onProgress !== undefined && { onProgress }),
      ...(onLog !== undefined && { onLog }),
    },
  );
}

/** The only trace of a call that needed no approval. How loud it is depends on what the tool does (HINT-009). */
function noteAllowedCall(
  { log }: Pick<ForwardingDeps, 'log'>,
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
