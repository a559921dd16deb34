import type { Clock } from '../shared/clock.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** npm hands a signal on to a process that got it from the terminal, too: both are one request. */
const SAME_MS = 1_000;
const LOOK_MS = 1_000;

/** Why everything is to stop. `launcher`: what npm had started this process with is gone. */
export type StopRequest = (typeof SIGNALS)[number] | 'launcher';

interface Surroundings {
  readonly clock: Pick<Clock, 'monotonicMs' | 'every'>;
  /** This process. */
  readonly process: {
    readonly ppid: number;
    on(signal: NodeJS.Signals, act: () => void): unknown;
    exit(code: number): void;
  };
  /**
   * Whether npm started this process: for `npx`, or for a script. It puts a shell in between, which ends at SIGTERM and hands nothing on. The
   * parent of any other process may end without a meaning, such as a shell whose user leaves the process behind.
   */
  readonly isOfNpm: boolean;
}

/**
 * The first request to stop: a signal, or the end of the launcher. SIGINT or SIGTERM once more, a second later or after that, ends the process at
 * once. The end of a terminal can come several times, and asks for no haste.
 */
export function stopRequest({ clock, process, isOfNpm }: Surroundings): Promise<StopRequest> {
  return new Promise((resolve) => {
    let since: number | undefined;
    const ask = (request: StopRequest) => {
      const now = clock.monotonicMs();
      if (since !== undefined && now - since >= SAME_MS && (request === 'SIGINT' || request === 'SIGTERM')) {
        process.exit(1);
      }
      since ??= now;
      resolve(request);
    };
    for (const signal of SIGNALS) process.on(signal, () => ask(signal));
    const launcher = process.ppid;
    if (!isOfNpm) return;
    const stopLooking = clock.every(LOOK_MS, () => {
      if (process.ppid === launcher) return;
      stopLooking();
      ask('launcher');
    });
  });
}
