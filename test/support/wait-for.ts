import { setTimeout as pause } from 'node:timers/promises';

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
