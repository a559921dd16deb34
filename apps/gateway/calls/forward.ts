import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { InvocationResult, Unanswered, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { RelayedAnswer, UpstreamRelay } from '../../../workflows/domain/relay-port.ts';
import { type Handles, callScope, type OpenedRound } from '../extensions/sealed-state.ts';
import type { Redaction, ToolLookup } from '../extensions/redaction.ts';
import type { ToolCall, ToolCallAnswer } from './tool-call.ts';
import { TASKS, undeclared } from '../wire/request-context.ts';
import { INTERNAL_ERROR } from '../wire/identifiers.ts';
import { conversationWith, handOnRound, orUndeclared } from '../extensions/relayed-rounds/conversation.ts';
import { sealTask } from '../extensions/relayed-rounds/tasks.ts';

export interface ForwardingDeps extends ToolLookup {
  readonly upstreams: ToolLookup['upstreams'] & Pick<UpstreamRelay, 'relay'>;
  readonly redaction: Pick<Redaction, 'withholds' | 'ofResult' | 'ofTask'>;
  readonly handles: Handles;
  readonly settings: {
    /** Limit on one forwarded call. */
    readonly executionTimeoutMs: number;
  };
}

/** The tool as it is known now, the call of it, and the round of questions that it comes back from. */
export interface CallOnTool {
  readonly tool: UpstreamTool;
  readonly binding: CallBinding;
  readonly round: OpenedRound | undefined;
}

/** An upstream may only ask, and only open tasks, as it was told that it may. */
const UNEXPECTED: Unanswered = {
  kind: 'error',
  code: INTERNAL_ERROR,
  message: 'The upstream server answered with something that it was not asked for.',
};

const NOTHING_ON_ITS_WAY: Pick<ToolCall, 'onProgress' | 'onLog'> = {};

/** Sends an allowed call to its upstream. What a tool asks or says on its way may be a part of its result, so sensitive ones may not. */
export async function forwardCall(
  { upstreams, redaction, settings }: ForwardingDeps,
  call: ToolCall,
  { tool, binding, round }: CallOnTool,
): Promise<RelayedAnswer> {
  const { upstream, upstreamTool, toolDigest, caller } = binding;
  const { arguments: args, meta, capabilities } = call;
  const isWithheld = redaction.withholds(tool.facts);
  const { onProgress, onLog } = isWithheld ? NOTHING_ON_ITS_WAY : call;
  // Of a task, what it comes to can be withheld when it is read.
  const { extensions } = capabilities ?? {};
  const tasksAlone: JsonObject = extensions === undefined ? {} : { extensions };
  const asked = { ...call, capabilities: isWithheld ? tasksAlone : capabilities };
  return upstreams.relay(
    {
      ...{ upstream, upstreamTool, toolDigest, arguments: args, caller },
      ...(meta !== undefined && { meta }),
      conversation: conversationWith(asked, round),
    },
    {
      signal: call.signal,
      timeoutMs: settings.executionTimeoutMs,
      ...(onProgress !== undefined && { onProgress }),
      ...(onLog !== undefined && { onLog }),
    },
  );
}

/** What the caller gets of the upstream's answer. */
export async function handOn(
  deps: ForwardingDeps,
  call: ToolCall,
  { tool, binding, answer }: Pick<CallOnTool, 'tool' | 'binding'> & { readonly answer: RelayedAnswer },
): Promise<ToolCallAnswer> {
  const { redaction, handles } = deps;
  const { facts } = tool;
  const redacted = (result: InvocationResult) => redaction.ofResult(facts, result);
  switch (answer.kind) {
    case 'input_required':
      if (redaction.withholds(facts)) return redacted(UNEXPECTED);
      return handOnRound(handles, callScope(binding), call, answer);
    case 'task': {
      if (undeclared(TASKS, call.capabilities ?? {}) !== undefined) return redacted(UNEXPECTED);
      const { upstream, tool: name, caller } = binding;
      const { taskId: upstreamTaskId } = answer.task;
      const taskId = await sealTask(handles, caller, { upstream, upstreamTaskId, tool: name });
      return { kind: 'relayed_task', taskId, task: await redaction.ofTask(answer.task, name, deps) };
    }
    case 'error': {
      const error = orUndeclared(answer, call);
      return error.kind === 'undeclared' ? error : redacted(error);
    }
    case 'result':
    case 'not_sent':
    case 'no_answer':
      return redacted(answer);
  }
}
