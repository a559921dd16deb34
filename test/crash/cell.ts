import { endsProcess, positionOf, stepOf, type Action, type Label } from './steps.ts';
import type { Armed } from './failpoints.ts';

/** One entry of the matrix. */
export interface Cell {
  readonly label: Label;
  readonly action: Action;
}

export const cellName = ({ label, action }: Cell) => `${label} ${action}`;

export const isDeadly = ({ label, action }: Cell) => endsProcess(label, action);

/** Claims of a worker that dies before the permit: with time left, another worker has to carry them out. */
const CLAIMED_ONLY: readonly Label[] = ['E3b', 'E3c', 'E4a'];
/** Longer than the engine needs to find out that a worker died. */
const PATIENT_EXECUTION_MS = 50_000;
const HANG_MS = 400;
/** Longer than the step allows until the next step. */
const LONG_HANGS: Partial<Record<Label, number>> = {
  // A permit is valid for two seconds.
  E4b: 2_300,
  E4c: 2_300,
  // A decision is valid for five seconds.
  R5c: 5_300,
  E3a: 5_300,
};

/** How a cell is armed. */
export function armingOf(cell: Cell, id: string): Armed {
  const { label, action } = cell;
  const told = positionOf(label) === 'c';
  const { ledBy } = stepOf(label);
  return {
    id,
    label,
    action,
    times: isDeadly(cell) ? 1 : 5,
    hangMs: LONG_HANGS[label] ?? HANG_MS,
    gather: told ? 3 : 12,
    gatherMs: told ? 30 : 300,
    ...(ledBy !== undefined && { ledBy: ledBy as Label }),
    ...(keepsClaims(cell) && { executionTimeoutMs: PATIENT_EXECUTION_MS }),
  };
}

function keepsClaims(cell: Cell): boolean {
  return isDeadly(cell) && CLAIMED_ONLY.includes(cell.label);
}

/** The permitted outcome of a call: the decision on it, or an outcome that the fault can honestly cause. */
export type Plan = 'approve' | 'approve twice' | 'deny' | 'cancel' | 'race' | 'lapse';

/** The suffix that marks a call whose first approval is not enough. */
export const WANTS_TWO = '/wants two';

const ENDS: Record<Plan, readonly string[]> = {
  approve: ['executed'],
  'approve twice': ['executed'],
  deny: ['denied'],
  cancel: ['cancelled'],
  lapse: ['denied'],
  race: ['executed', 'cancelled'],
};

/** The states that a call may end in. */
export function endsOf(plan: Plan, cell: Cell): readonly string[] {
  if (!ENDS[plan].includes('executed')) return ENDS[plan];
  return [
    ...ENDS[plan],
    ...(mayBeUnknown(cell) ? ['outcome_unknown'] : []),
    ...(mayBeUnsent(cell) ? ['execution_error'] : []),
  ];
}

/** Whether executions may remain that no worker goes on with, so that only their deadline ends them. */
export const endsAtDeadline = (cell: Cell) => (mayBeUnknown(cell) || mayBeUnsent(cell)) && !keepsClaims(cell);

/** A worker that dies loses its knowledge of calls that were under way; so does a step whose answer is lost. */
function mayBeUnknown(cell: Cell): boolean {
  const { label, action } = cell;
  if (isDeadly(cell)) return stepOf(label).processes.includes('worker');
  return label === 'E6b' && action !== 'kill';
}

/** Claimed, and provably not sent: no permit before the execution deadline, or one that was not used in time. */
function mayBeUnsent(cell: Cell): boolean {
  const { label, action } = cell;
  if (stepOf(label).ledBy === 'E6a') return true;
  if (isDeadly(cell)) return stepOf(label).processes.includes('worker') && !keepsClaims(cell);
  return (label === 'E6a' && action === 'throw') || (action === 'hang' && ['E4b', 'E4c'].includes(label));
}
