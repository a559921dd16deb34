/** Where a call of a port can be broken: before it is made, done with its answer lost, done with its answer received. */
export const POSITIONS = ['a', 'b', 'c'] as const;
export type Position = (typeof POSITIONS)[number];

/**
 * `kill`: SIGKILL. `hang`: a pause, and then on as the position says. `throw`: the caller is told of a failure; at `b` of one
 * that did not happen, and at `c`, where it has been told already, the process dies of an error that nobody catches.
 */
export const ACTIONS = ['kill', 'hang', 'throw'] as const;
export type Action = (typeof ACTIONS)[number];

export interface Step {
  /** Which process makes the call, and so is the victim. */
  readonly process: 'gateway' | 'worker';
  /** Port and method. */
  readonly port: string;
  /** What the call is for. */
  readonly what: string;
  /** Calls are on their way to it from the opening on, or only once they are decided on. */
  readonly armedAt: 'opening' | 'deciding';
}

/**
 * Every commit and every network call between a tool call and its end, in the order in which a call meets them.
 * C: creation. R: resolution. E: execution. X: an end before it. Q: what a client reads.
 */
export const STEPS = {
  C0: gateway('PolicyDecisionPoint.evaluate', 'the first decision', 'opening'),
  C1: gateway('GatedCalls.open', 'call, binding and submission intent are committed', 'opening'),
  C2: gateway('AccessRequestService.submit', 'the access request is opened', 'opening'),
  C3: gateway('LifecycleStore.attachHandle', 'its handle is committed', 'opening'),
  C4: worker('GatedCallWorkflows.start', 'the workflow is started', 'opening'),
  C5: gateway('answer to tools/call', 'the task is handed out', 'opening'),
  R1: gateway('GatedCalls.acceptCallback', 'a callback is committed', 'deciding'),
  R2: worker('GatedCallWorkflows.poke', 'the workflow is woken', 'deciding'),
  R3: worker('AccessRequestService.read', 'the resolution is read', 'deciding'),
  R4: worker('LifecycleStore.grant', 'the grant is committed', 'deciding'),
  R6: worker('DueLooks.take', 'due looks are taken', 'opening'),
  E1: worker('Upstreams.find', 'the tool is looked at again', 'deciding'),
  E2: worker('PolicyDecisionPoint.evaluate', 'the decision with the approval', 'deciding'),
  R5: worker('LifecycleStore.recordDecision', 'that decision is committed', 'deciding'),
  E3: worker('LifecycleStore.claim', 'the claim is committed', 'deciding'),
  E4: worker('LifecycleStore.beginInvocation', 'the permit to send is committed', 'deciding'),
  E6: worker('Upstreams.call', 'the call is sent and its answer is read', 'deciding'),
  E8: worker('LifecycleStore.settleResult', 'the result is committed', 'deciding'),
  X1: gateway('GatedCalls.cancel', 'a cancellation is committed', 'deciding'),
  X2: worker('AccessRequestService.cancel', 'an access request is given up', 'deciding'),
  X3: worker('LifecycleStore.expire', 'a deadline is carried out', 'deciding'),
  X4: worker('LifecycleStore.end', 'a denial is committed', 'deciding'),
  Q1: gateway('GatedCalls.findTask', 'a task is read', 'deciding'),
  Q2: gateway('answer to tasks/get', 'a task is shown', 'deciding'),
} as const satisfies Record<string, Step>;

export type StepName = keyof typeof STEPS;
export type Label = `${StepName}${Position}`;

export const LABELS = (Object.keys(STEPS) as StepName[]).flatMap((step) =>
  POSITIONS.map((position): Label => `${step}${position}`),
);

export function stepOf(label: Label): Step {
  return STEPS[label.slice(0, -1) as StepName];
}

export function positionOf(label: Label): Position {
  return label.slice(-1) as Position;
}

/** Whether what is done at this label ends the process. */
export function endsProcess(label: Label, action: Action): boolean {
  return action === 'kill' || (action === 'throw' && positionOf(label) === 'c');
}

function gateway(port: string, what: string, armedAt: Step['armedAt']): Step {
  return { process: 'gateway', port, what, armedAt };
}

function worker(port: string, what: string, armedAt: Step['armedAt']): Step {
  return { process: 'worker', port, what, armedAt };
}
