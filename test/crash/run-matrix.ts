import { checkRun } from './check-run.ts';
import type { Result, Task } from './matrix.ts';
import { startRig, type Rig } from './rig.ts';
import { runCell } from './run-cell.ts';

/** Every check reads all data of a rig, so a rig is replaced before it has much. */
const RUNS_PER_RIG = 60;

export interface MatrixOptions {
  /** Rigs side by side. */
  readonly rigs: number;
  /** Fires when no more runs are to be made: runs under way are stopped. */
  readonly signal: AbortSignal;
  readonly onResult: (result: Result) => void;
}

/** Makes all runs, on several rigs at once. A rig with a violation is not used again. */
export async function runMatrix(tasks: readonly Task[], options: MatrixOptions): Promise<void> {
  const left = [...tasks];
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const workers = Array.from({ length: options.rigs }, () =>
    workThrough(left, { ...options, signal }).catch((error: unknown) => {
      // The others are stopped, too: nothing may be left running.
      failed.abort();
      throw error;
    }),
  );
  const ends = await Promise.allSettled(workers);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

async function workThrough(left: Task[], { signal, onResult }: MatrixOptions): Promise<void> {
  let rig: Rig | undefined;
  let runs = 0;
  signal.addEventListener('abort', () => void rig?.stop());
  try {
    for (let task = left.shift(); task !== undefined; task = left.shift()) {
      rig ??= await startRig();
      if (signal.aborted) return;
      const result = await runTask(rig, task);
      if (signal.aborted) return;
      onResult(result);
      runs += 1;
      if (result.violations.length === 0 && runs < RUNS_PER_RIG) continue;
      await rig.stop();
      rig = undefined;
      runs = 0;
    }
  } finally {
    await rig?.stop();
  }
}

/** One run, checked. A run that cannot be finished is a violation, too. */
export async function runTask(rig: Rig, { cell, repeat }: Task): Promise<Result> {
  const began = performance.now();
  const about = { ...cell, repeat };
  const seconds = () => Math.round((performance.now() - began) / 100) / 10;
  try {
    const run = await runCell(rig, cell, repeat);
    rig.faults.push(...run.fired.map(({ at }) => ({ from: at, to: at })));
    const { ends, violations } = await checkRun(rig, run);
    return { ...about, seconds: seconds(), fired: run.fired.length, ends, violations };
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ...about, seconds: seconds(), fired: 0, ends: {}, violations: [`the run broke off: ${what}`] };
  }
}
