import { randomUUID } from 'node:crypto';
import type { ActivityDeps } from '../../activities/step.ts';
import type { GatedCallView } from '../../workflows/domain/ports.ts';
import { anApproval } from '../support/gated-calls.ts';
import type { Mutant } from './mutant.ts';

/** The permit is taken only when the tool has answered. */
function permitAfterSend(deps: ActivityDeps): ActivityDeps {
  let asked: Parameters<ActivityDeps['store']['beginInvocation']>[0] | undefined;
  return {
    ...deps,
    store: {
      ...deps.store,
      async beginInvocation(call) {
        asked = call;
        return true;
      },
    },
    upstreams: {
      ...deps.upstreams,
      async call(...args) {
        const result = await deps.upstreams.call(...args);
        if (asked !== undefined) await deps.store.beginInvocation(asked);
        return result;
      },
    },
  };
}

/** The access request service hears of the next generation before the present one is given up. */
function contactBeforeConsuming(deps: ActivityDeps): ActivityDeps {
  return {
    ...deps,
    store: {
      ...deps.store,
      async requestAgain(call, next, maxGenerations) {
        if (call.generation < maxGenerations) await deps.accessRequests.submit(next);
        return deps.store.requestAgain(call, next, maxGenerations);
      },
    },
  };
}

/** Two servers answer in turns, and one of them always shows a task as it first read it. */
function takingTurns() {
  const shown = new Map<string, GatedCallView>();
  let turn = 0;
  return (view: GatedCallView | undefined) => {
    if (view === undefined) return undefined;
    const earlier = shown.get(view.taskId);
    shown.set(view.taskId, earlier ?? view);
    turn += 1;
    return turn % 2 === 0 && earlier !== undefined ? earlier : view;
  };
}

/** Faults around the ports of a process. */
export const PROCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'the permit is taken after the call was sent',
    checks: ['histories'],
    inProcess: () => ({ deps: permitAfterSend }),
  },
  {
    name: 'a retried submission has a new key',
    checks: ['histories'],
    inProcess: () => ({
      accessRequests: (port) => ({
        ...port,
        submit: (submission) => port.submit({ ...submission, idempotencyKey: randomUUID() }),
      }),
    }),
  },
  {
    name: 'the service is told before the generation is consumed',
    checks: ['histories'],
    inProcess: () => ({ deps: contactBeforeConsuming }),
  },
  {
    name: 'a callback is believed without a look',
    checks: ['histories'],
    inProcess: () => ({
      accessRequests: (port) => ({ ...port, read: async () => ({ kind: 'granted', approval: anApproval() }) }),
    }),
  },
  {
    name: 'no sweeper carries out deadlines or gives creations up',
    checks: ['histories'],
    inProcess: () => ({ sweeps: false }),
  },
  {
    name: 'the access request of a call that ended is left open',
    checks: ['histories'],
    inProcess: () => ({ handlers: (handlers) => ({ ...handlers, cancel_access_request: async () => undefined }) }),
  },
  {
    name: 'tasks are read from a copy that lags behind',
    checks: ['histories'],
    inProcess: () => {
      const lag = takingTurns();
      return {
        calls: (port) => ({
          ...port,
          findTask: async (taskId, owner) => lag(await port.findTask(taskId, owner)),
        }),
      };
    },
  },
  {
    name: 'a lost answer is asked for again',
    checks: ['histories'],
    inProcess: () => ({
      deps: (deps) => ({
        ...deps,
        upstreams: {
          ...deps.upstreams,
          async call(...args) {
            const first = await deps.upstreams.call(...args);
            return first.kind === 'no_answer' ? deps.upstreams.call(...args) : first;
          },
        },
      }),
    }),
  },
];
