import { setTimeout as pause } from 'node:timers/promises';

/** Repeats what fails or gives nothing for now, as those do who were told to try again. Throws when that goes on for long. */
export const patiently = <T>(
  attempt: () => Promise<T | undefined>,
  patience: { timeoutMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> => {
  let last: unknown;
  const unlessItFails = () =>
    attempt().catch((error: unknown) => {
      last = error;
      return undefined;
    });
  return waitFor(unlessItFails, patience).catch((error: Error) => {
    throw new Error(error.message, { cause: last });
  });
};

/** Repeats what the product documents as to be repeated, while its answer says so. Throws when that goes on for long. */
export async function repeatWhile<Answer>(
  isForLater: (answer: Answer) => boolean,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const found = await waitFor(async () => {
    const answer = await ask();
    return isForLater(answer) ? undefined : { answer };
  });
  return found.answer;
}

/** Asks again while a service answers 503, as callers do. */
export const untilAnswered = <Answer extends { readonly status: number }>(ask: () => Promise<Answer>) =>
  repeatWhile(({ status }) => status === 503, ask);

/**
 * Waits until the condition gives something truthy and answers it. Throws after `timeoutMs`, so that no test hangs: a net, and
 * no measure, for a machine may stand still for seconds. Its default is far beyond the minute for which parts of the product may rest.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 240_000, everyMs = 25 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`the condition did not come true within ${timeoutMs} ms`);
    await pause(everyMs);
  }
}
