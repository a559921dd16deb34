import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCalls, GatedCallView } from '../../../workflows/domain/ports.ts';
import { type Principal, subjectKey } from '../../../workflows/domain/principal.ts';
import { type Clock, timeLimit } from '../../shared/clock.ts';
import { watchTasks, type TaskWatchDeps } from '../tasks/watch.ts';
import type { LeavePage } from '../wire/request-context.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';

/** A client hears at least this often from a call that waits. Hosts that count from the last word keep waiting. */
const WORD_MS = 10_000;

export interface WaitDeps extends TaskWatchDeps {
  readonly gatedCalls: Pick<GatedCalls, 'ownerOf' | 'findTask'> & TaskWatchDeps['gatedCalls'];
  /** Of calls that wait, and of streams. */
  readonly concurrency: ConcurrencyLimit;
}

/** How a client without tasks waits for the end of its call. */
export interface Wait {
  readonly seconds: number;
  /** How long `get_request_status` waits for the same client, in seconds. */
  readonly nextSeconds: number;
  /** Gets a call that waits: at once, after each change of its state, and at least every ten seconds. */
  readonly onWaiting?: ((view: GatedCallView) => void) | undefined;
  /** Asks the client to open the page of a call that begins to wait. */
  readonly showPage?: ((view: GatedCallView) => LeavePage | undefined) | undefined;
  /** Whether an end counts as told if the client gets it now. A client of a session may be away for a moment. Default: it does. */
  readonly isTold?: (() => boolean) | undefined;
}

interface Waiter extends Wait {
  readonly caller: Principal;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
}

/** A call as its owner sees it now. */
export interface Waited {
  readonly view: GatedCallView;
  /** How long the next wait may take, in seconds. `0`: this caller has too many others. */
  readonly nextSeconds: number;
}

/**
 * Waits until the call has ended or asks for input, the time is over, the caller leaves or the gateway stops. The call stays open. Above
 * the limit on waiting calls it does not wait.
 */
export async function waitForEnd(deps: WaitDeps, opened: GatedCallView, waiter: Waiter): Promise<Waited> {
  const { seconds, nextSeconds } = waiter;
  if (seconds === 0 || isOver(opened)) return { view: opened, nextSeconds };
  const slot = deps.concurrency.acquire(subjectKey(waiter.caller));
  if (slot === undefined) return { view: opened, nextSeconds: 0 };
  const leavePage = waiter.showPage?.(opened);
  let view = opened;
  try {
    view = await watch(deps, opened, { ...waiter, closing: slot.closing });
  } finally {
    slot.release();
    await leavePage?.(view);
  }
  return { view, nextSeconds };
}

/** Nothing that this client can wait for. Only a client that holds the task can give input. */
const isOver = ({ state }: GatedCallView) => isTerminal(state) || state === 'input_required';

async function watch(
  deps: WaitDeps,
  opened: GatedCallView,
  { caller, signal, closing, seconds, onWaiting, isTold }: Waiter & { readonly closing: AbortSignal },
): Promise<GatedCallView> {
  const gatedCalls = notingReads(deps.gatedCalls, isTold);
  const { taskId } = opened;
  const owner = deps.gatedCalls.ownerOf(caller);
  const asksForInput = new AbortController();
  const over = timeLimit(deps.clock, seconds * 1_000, signal, closing, asksForInput.signal);
  const words = tellRegularly(deps.clock, opened, onWaiting);
  let last = opened;
  const show = async (view: GatedCallView) => {
    last = view;
    if (!isOver(view)) return words.changed(view);
    if (!isTerminal(view.state)) asksForInput.abort();
  };
  try {
    await watchTasks({ ...deps, gatedCalls }, { taskIds: [taskId], owner, signal: over.signal, show });
  } finally {
    words.end();
    over.end();
  }
  if (isOver(last) || signal.aborted) return last;
  // A notice may have been lost, so the call is read once more.
  return (await gatedCalls.readTask(taskId, owner)) ?? last;
}

/** Reads calls. A client that was not told of an end gets it by an identical call. */
const notingReads = (
  gatedCalls: WaitDeps['gatedCalls'],
  isTold: Wait['isTold'] = () => true,
): TaskWatchDeps['gatedCalls'] => ({
  readTask: (taskId, owner) => (isTold() ? gatedCalls.readTask(taskId, owner) : gatedCalls.findTask(taskId, owner)),
});

/** Tells the client at once, regularly, and whenever the state is another one. */
function tellRegularly(clock: Pick<Clock, 'every'>, opened: GatedCallView, tell: Wait['onWaiting'] = () => undefined) {
  let last = opened;
  tell(opened);
  const end = clock.every(WORD_MS, () => tell(last));
  return {
    end,
    changed(view: GatedCallView): void {
      const isNew = view.state !== last.state;
      last = view;
      if (isNew) tell(view);
    },
  };
}
