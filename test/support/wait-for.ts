import { setTimeout as pause } from 'node:timers/promises';

/**
 * Repeats an operation that fails or gives nothing for now, as clients do that are told to try again. Throws when that
 * goes on for long.
 */
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

/** Repeats an operation while its answer says so, as the product documents. Throws when that goes on for long. */
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

/** Between two looks: soon at first, and more seldom during a long wait, which would else take the processor from the product. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [10, 100];

/**
 * Waits until the condition gives a truthy value and answers it. Throws after `timeoutMs`, so that no test hangs. The
 * limit measures nothing, because a machine may stand still for seconds. Its default is far beyond the minute for which
 * parts of the product may rest.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 240_000, everyMs = LONGEST_PAUSE_MS }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 1.25) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`the condition did not come true within ${timeoutMs} ms`);
    await pause(Math.min(pauseMs, everyMs));
  }
}
