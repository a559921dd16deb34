import { setTimeout as pause } from 'node:timers/promises';

/** Repeats what fails or gives nothing for now, as those do who were told to try again. Throws when that goes on for long. */
export const patiently = <T>(
  attempt: () => Promise<T | undefined>,
  patience: { timeoutMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> => waitFor(() => attempt().catch(() => undefined), patience);

/** Waits until the condition gives something truthy and answers it. Throws after `timeoutMs`, so that no test hangs. */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 30_000, everyMs = 25 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`the condition did not come true within ${timeoutMs} ms`);
    await pause(everyMs);
  }
}
