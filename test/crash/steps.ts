/**
 * Where a call of a port can be broken: before it is made, done with its answer lost, done with its answer received.
 */
export const POSITIONS = ['a', 'b', 'c'] as const;
export type Position = (typeof POSITIONS)[number];

/**
 * `kill`: SIGKILL. `hang`: a pause, and then on as the position says. `throw`: the caller is told of a failure. At `b`
 * the call did not happen; at `c` the caller already has its answer, and the process dies of an uncaught error.
 */
export const ACTIONS = ['kill', 'hang', 'throw'] as const;
export type Action = (typeof ACTIONS)[number];

/** The processes that are broken. */
export const VICTIMS = ['gateway', 'worker', 'pdp', 'approvals'] as const;
export type Victim = (typeof VICTIMS)[number];

export interface Step {
  /** The processes that take the step: the first one to reach it is the victim. */
  readonly processes: readonly Victim[];
  /** A prepared statement by its name, a port and its method, or an answer on its way out. */
  readonly at: string;
  /** The purpose of the step. */
  readonly what: string;
  /** Whether calls reach the step from the opening on, or only once they are decided on. */
  readonly armedAt: 'opening' | 'deciding';
  /** The step that has to fail before a call can get here. */
  readonly ledBy?: string;
}

/**
 * Every commit and every network call between a tool call and its end, in the order in which a call meets them. C:
 * creation. A: the authority side. O: the delivery of outboxes. K: a callback. R: resolution. G: a further generation.
 * E: execution. X: an end before it. Q: a client's read.
 */
export const STEPS = {
  C0: opening('gateway', 'PolicyDecisionPoint.evaluate', 'the first decision'),
  A1: opening('pdp', 'statement pdp-record-evaluation', 'the requestable denial is recorded'),
  C1: opening('gateway', 'statement open-gated-call', 'call, binding and submission intent are committed'),
  C6: opening('gateway', 'statement take-submission', 'a caller that joins asks for the right to submit'),
  C2: opening('gateway', 'AccessRequestService.submit', 'the access request is opened'),
  C7: opening('gateway', 'statement release-submission', 'the right to submit is given back', 'C2a'),
  A2: opening('approvals', 'statement approvals-create', 'the access request is committed'),
  C3: opening('gateway', 'statement attach-handle', 'its handle is committed'),
  O1: opening('worker', 'statement gateway-outbox-take', 'rows are taken, and handled ones are deleted'),
  C4: opening('worker', 'GatedCallWorkflows.start', 'the workflow is started'),
  C5: opening('gateway', 'answer to tools/call', 'the task is handed out'),
  A3: deciding('approvals', 'statement approvals-accept-decision', 'a vote from a webhook is committed'),
  A6: deciding('approvals', 'statement approvals-cast-vote', 'a vote from the inbox is committed'),
  O2: deciding('approvals', 'statement approvals-outbox-take', 'callbacks are taken, and sent ones are deleted'),
  R1: deciding('gateway', 'statement accept-callback', 'a callback is committed'),
  K1: deciding('gateway', 'answer to a callback', 'the access request service learns that the callback arrived'),
  R2: deciding('worker', 'GatedCallWorkflows.signal', 'the workflow is signalled'),
  R6: opening('worker', 'statement take-polls', 'due polls are taken'),
  R7: deciding('worker', 'statement enqueue-signal', 'a poll that found a resolution signals the workflow', 'R1a'),
  R3: deciding('worker', 'AccessRequestService.read', 'the resolution is read'),
  R8: deciding('worker', 'AccessRequestService.stated', 'the name of the resolver is read'),
  R9: deciding('worker', 'statement keep-statement', 'the name of the resolver is committed'),
  A4: deciding('approvals', 'statement approvals-keep-state', 'the signed approval is committed'),
  R4: deciding('worker', 'statement grant-approval', 'the grant is committed'),
  E1: deciding('worker', 'Upstreams.find', 'the tool is looked at again'),
  E2: deciding('worker', 'PolicyDecisionPoint.evaluate', 'the decision with the approval'),
  R5: deciding('worker', 'statement record-decision', 'that decision is committed'),
  G1: deciding('worker', 'statement request-again', 'the next generation and its intent are committed'),
  G2: deciding('worker', 'AccessRequestService.submit', 'the next access request is opened'),
  G3: deciding('worker', 'statement attach-handle', 'its handle is committed'),
  E3: deciding('worker', 'statement claim-execution', 'the claim is committed'),
  E4: deciding('worker', 'statement begin-invocation', 'the permit to send is committed'),
  E6: deciding('worker', 'Upstreams.call', 'the call is sent and its answer is read'),
  E8: deciding('worker', 'statement settle-execution', 'the result is committed'),
  E9: deciding('worker', 'statement settle-not-sent', 'the fact that nothing was sent is committed', 'E6a'),
  X1: deciding('gateway', 'statement cancel', 'a cancellation is committed'),
  X2: deciding('worker', 'AccessRequestService.cancel', 'an access request is given up'),
  A5: deciding('approvals', 'statement approvals-cancel-access-request', 'the end of the access request is committed'),
  X3: deciding(['gateway', 'worker'], 'statement expire', 'a deadline is carried out'),
  X4: deciding('worker', 'statement end-unclaimed', 'a denial is committed'),
  Q1: deciding('gateway', 'statement find-task', 'a task is read'),
  Q2: deciding('gateway', 'answer to tasks/get', 'a task is shown'),
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

/** Whether a fault at this label ends the process. */
export function endsProcess(label: Label, action: Action): boolean {
  return action === 'kill' || (action === 'throw' && positionOf(label) === 'c');
}

/** The steps of a process that are statements, by the statement's name. */
export function statementsOf(process: Victim): ReadonlyMap<string, StepName> {
  const own = Object.entries(STEPS).filter(
    ([, step]) => step.processes.includes(process) && step.at.startsWith(STATEMENT),
  );
  return new Map(own.map(([name, step]) => [step.at.slice(STATEMENT.length), name as StepName]));
}

const STATEMENT = 'statement ';

function opening(process: Victim | readonly Victim[], at: string, what: string, ledBy?: string): Step {
  const processes = typeof process === 'string' ? [process] : process;
  return { processes, at, what, armedAt: 'opening', ...(ledBy !== undefined && { ledBy }) };
}

function deciding(...of: Parameters<typeof opening>): Step {
  return { ...opening(...of), armedAt: 'deciding' };
}
