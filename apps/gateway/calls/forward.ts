import type { Logger } from 'pino';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import {
  RECONFIGURED,
  type RelayedAnswer,
  type UpstreamRelay,
  type UpstreamTool,
} from '../../../workflows/domain/upstream-ports.ts';
import type { ToolFacts } from '../../../workflows/domain/tools/tool-facts.ts';
import type { Redaction } from '../extensions/redaction.ts';
import type { OpenedRound } from '../extensions/sealed-state.ts';
import { conversationOf } from '../wire/request-context.ts';
import type { ForwardingSettings, RelayedRounds, ToolCall, ToolCallAnswer } from './tool-call.ts';

export interface ForwardingDeps {
  readonly upstreams: Pick<UpstreamRelay, 'relay'>;
  readonly redaction: Pick<Redaction, 'withholds' | 'ofResult'>;
  readonly relayedRounds: Pick<RelayedRounds, 'handOn'>;
  readonly settings: ForwardingSettings;
  readonly log: Logger;
}

/** An allowed call of a tool, and the round of input that it answers. */
export interface AllowedCall {
  readonly tool: UpstreamTool;
  readonly binding: CallBinding;
  readonly round: OpenedRound | undefined;
}

/**
 * Sends an allowed call to its upstream, once, and returns the caller's answer. `undefined` when nothing was sent because the upstream was
 * configured anew: the decision was about another one.
 */
export async function forward(
  deps: ForwardingDeps,
  call: ToolCall,
  allowed: AllowedCall,
): Promise<ToolCallAnswer | undefined> {
  const { tool, binding } = allowed;
  const answer = await send(deps, call, allowed);
  if (answer.kind === 'not_sent' && answer.cause === RECONFIGURED) return undefined;
  noteAllowedCall(deps, binding, { facts: tool.facts, result: answer });
  switch (answer.kind) {
    case 'result':
    case 'not_sent':
    case 'no_answer':
      return { kind: 'ran', outcome: deps.redaction.ofResult(tool.facts, answer) };
    case 'error':
    case 'input_required':
    case 'task':
      return deps.relayedRounds.handOn(call, { tool, binding }, answer);
  }
}

/** Questions, progress and log messages of a tool may hold parts of its result, so they are withheld if the result is. */
function send(
  { upstreams, redaction, settings }: ForwardingDeps,
  call: ToolCall,
  { tool, binding, round }: AllowedCall,
): Promise<RelayedAnswer> {
  const { upstream, upstreamTool, toolDigest, caller } = binding;
  const { arguments: args, meta, capabilities } = call;
  const isWithheld = redaction.withholds(tool.facts);
  const { onProgress, onLog, logLevel, askable } = isWithheld ? {} : call;
  // Tasks stay: the result of a task is withheld when it is read.
  const { extensions } = capabilities ?? {};
  const tasksAlone = extensions === undefined ? {} : { extensions };
  const asked = { ...call, capabilities: isWithheld ? tasksAlone : capabilities };
  return upstreams.relay(
    {
      ...{ upstream, upstreamTool, toolDigest, arguments: args, caller },
      ...(meta !== undefined && { meta }),
      ...(tool.connection !== undefined && { connection: tool.connection }),
      conversation: conversationOf(asked, round),
    },
    {
      signal: call.cancelled ?? call.signal,
      timeoutMs: settings.executionTimeoutMs,
      askable,
      ...(onProgress !== undefined && { onProgress }),
      ...(onLog !== undefined && { onLog }),
      ...(logLevel !== undefined && { logLevel }),
    },
  );
}

/** The only trace of a call that needed no approval. Its log level depends on the effect of the tool (HINT-009). */
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
