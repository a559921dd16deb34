import type { Clock } from '../../../apps/shared/clock.ts';

/** Rejects when the signal fires first, or has fired already. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new Error('aborted'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
    promise.catch(() => undefined);
  }
}

/** Waits for a promise to settle, but not longer than this. */
export async function atMost(promise: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  const over = new AbortController();
  const end = () => over.abort();
  promise.then(end, end);
  await clock.after(ms, over.signal);
}
