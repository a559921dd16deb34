import type { InvocationResult, Unanswered } from '../../../../workflows/domain/upstream-ports.ts';
import type { RelayedRounds } from '../../calls/extension-ports.ts';
import { refused, type ToolCallAnswer } from '../../calls/tool-call.ts';
import { INTERNAL_ERROR } from '../../wire/identifiers.ts';
import { TASKS, undeclared } from '../../wire/request-context.ts';
import type { Redaction, ToolLookup } from '../redaction.ts';
import { callScope, openRound, type SealedStates } from '../sealed-state.ts';
import { handOnRound, orUndeclared, type RelayedRound, type Undeclared } from './conversation.ts';
import { sealTask } from './tasks.ts';

export interface RelayedRoundDeps extends ToolLookup {
  readonly redaction: Pick<Redaction, 'withholds' | 'ofResult' | 'ofTask'>;
  readonly sealedStates: SealedStates;
}

/** An upstream may only ask, and only open tasks, as it was told that it may. */
const UNEXPECTED: Unanswered = {
  kind: 'error',
  code: INTERNAL_ERROR,
  message: 'The upstream server answered with something that it was not asked for.',
};

/** What upstreams ask the clients of allowed calls, and the tasks that they open for these. Nothing of it is stored. */
export function createRelayedRounds(deps: RelayedRoundDeps): RelayedRounds {
  const { redaction, sealedStates } = deps;
  return {
    open: (binding, state) => openRound(sealedStates, callScope(binding), state),
    async handOn(call, { tool: { facts }, binding }, answer) {
      const ran = (outcome: InvocationResult): ToolCallAnswer => ({
        kind: 'ran',
        outcome: redaction.ofResult(facts, outcome),
      });
      switch (answer.kind) {
        case 'input_required':
          if (redaction.withholds(facts)) return ran(UNEXPECTED);
          return asAnswer(await handOnRound(sealedStates, callScope(binding), call, answer));
        case 'task': {
          if (undeclared(TASKS, call.capabilities ?? {}) !== undefined) return ran(UNEXPECTED);
          const { upstream, tool, caller } = binding;
          const { taskId: upstreamTaskId } = answer.task;
          const taskId = await sealTask(sealedStates, caller, { upstream, upstreamTaskId, tool });
          return {
            kind: 'ran',
            outcome: { kind: 'task', taskId, task: await redaction.ofTask(answer.task, tool, deps) },
          };
        }
        case 'error': {
          const error = orUndeclared(answer, call);
          return error.kind === 'undeclared' ? asAnswer(error) : ran(error);
        }
      }
    },
  };
}

function asAnswer(round: RelayedRound | Undeclared): ToolCallAnswer {
  if (round.kind === 'relayed_round') return { kind: 'asks', round };
  return refused({ reason: 'undeclared', requiredCapabilities: round.requiredCapabilities });
}
