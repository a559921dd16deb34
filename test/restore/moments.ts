import { requestOf } from '../support/sealed-calls.ts';
import { patiently } from '../support/wait-for.ts';
import { PATIENCE, type Installation } from './installation.ts';

/** The order of the work before the backup: later parts stop more of the product. */
export const PHASES = ['opened', 'at work', 'twice', 'held at the tool', 'without permits', 'without policy'] as const;
type Phase = (typeof PHASES)[number];

export interface DrillCall {
  readonly path: string;
  readonly taskId: string;
}

/** A call at a certain moment of its life when the backup is made, and its fate afterwards. */
export interface Moment {
  readonly name: string;
  /** When the drill brings the call to this moment. */
  readonly phase: Phase;
  /** The state in the backup. */
  readonly state: string;
  /** The number of calls of its tool by the end. Absent: an event afterwards competes with its execution. */
  readonly writes?: 0 | 1;
  before?(on: Installation, call: DrillCall): Promise<void>;
  after?(on: Installation, call: DrillCall): Promise<void>;
}

/** The access request of the call's present generation, once it exists. */
async function requestFor({ stack }: Installation, { taskId }: DrillCall, generation = 1) {
  const { secrets } = stack.development;
  return patiently(async () => {
    const request = await requestOf({ database: await stack.database(), secrets }, taskId);
    return request.generation === generation ? request : undefined;
  }, PATIENCE);
}
const approve = async (on: Installation, call: DrillCall) => on.approve(await requestFor(on, call));
const approveTwice = async (on: Installation, call: DrillCall) => {
  await approve(on, call);
  await on.approve(await requestFor(on, call, 2));
};
/** The first one; the second access request is made. */
const approveOfTwo = async (on: Installation, call: DrillCall) => {
  await approve(on, call);
  await requestFor(on, call, 2);
};
const deny = async (on: Installation, call: DrillCall) => on.vote(await requestFor(on, call), 'bob', 'deny');
const voteOnce = async (on: Installation, call: DrillCall) => on.vote(await requestFor(on, call), 'alice', 'approve');
const voteAgain = async (on: Installation, call: DrillCall) => on.vote(await requestFor(on, call), 'bob', 'approve');
const cancel = async (on: Installation, { taskId }: DrillCall) => void (await on.cancel(taskId));
const expire = async (on: Installation, { taskId }: DrillCall) =>
  void (await on.query('UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE task_id = $1', [
    taskId,
  ]));
const untilAtTool = async (on: Installation, call: DrillCall) => {
  await approve(on, call);
  await patiently(async () => on.writes(call.path) > 0, PATIENCE);
};
const endExecution = async (on: Installation, { taskId }: DrillCall) => {
  const text = 'UPDATE gateway.gated_call SET execution_deadline = clock_timestamp() WHERE task_id = $1';
  await on.query(text, [taskId]);
};

const OPENED = 'opened, then executed';

/** Every moment at which a backup can find a call, with every possible fate afterwards. */
export const MOMENTS: readonly Moment[] = [
  {
    ...{ name: OPENED, phase: 'opened', state: 'preparing', writes: 1 },
    async after(on, call) {
      await on.open(call.path);
      await approve(on, call);
    },
  },
  { name: 'submitted, then executed', phase: 'at work', state: 'pending', writes: 1, after: approve },
  { name: 'submitted, then denied', phase: 'at work', state: 'pending', writes: 0, after: deny },
  { name: 'submitted, then cancelled', phase: 'at work', state: 'pending', writes: 0, after: cancel },
  { name: 'submitted, then expired', phase: 'at work', state: 'pending', writes: 0, after: expire },
  { name: 'submitted, and waits', phase: 'at work', state: 'pending', writes: 0 },
  { name: 'voted, then executed', phase: 'at work', state: 'pending', writes: 1, before: voteOnce, after: voteAgain },
  { name: 'voted, then denied', phase: 'at work', state: 'pending', writes: 0, before: voteOnce, after: deny },
  { name: 'voted, and waits', phase: 'at work', state: 'pending', writes: 0, before: voteOnce },
  { name: 'executed', phase: 'at work', state: 'executed', writes: 1, before: approve },
  { name: 'denied', phase: 'at work', state: 'denied', writes: 0, before: deny },
  { name: 'cancelled', phase: 'at work', state: 'cancelled', writes: 0, before: cancel },
  { name: 'expired', phase: 'at work', state: 'denied', writes: 0, before: expire },
  { name: 'approved twice later', phase: 'twice', state: 'pending', writes: 1, after: approveTwice },
  {
    ...{ name: 'approved twice, second generation', phase: 'twice', state: 'pending', writes: 1 },
    before: approveOfTwo,
    after: async (on, call) => on.approve(await requestFor(on, call, 2)),
  },
  {
    ...{ name: 'approved twice, second generation, then cancelled', phase: 'twice', state: 'pending', writes: 0 },
    before: approveOfTwo,
    after: cancel,
  },
  {
    ...{ name: 'invoked, then unknown', phase: 'held at the tool', state: 'claimed', writes: 1 },
    before: untilAtTool,
    after: endExecution,
  },
  { name: 'claimed, then executed or not sent', phase: 'without permits', state: 'claimed', before: approve },
  { name: 'claimed, then executed or not sent, too', phase: 'without permits', state: 'claimed', before: approve },
  { name: 'granted, then executed', phase: 'without policy', state: 'granted', writes: 1, before: approve },
  {
    ...{ name: 'granted, then cancelled', phase: 'without policy', state: 'granted' },
    before: approve,
    after: cancel,
  },
];
