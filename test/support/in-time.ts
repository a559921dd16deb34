const TURNS = 3;

/** Tries again what had no time: the fence is a clock on the wall, and the machine may stand still within it. */
export function inTime<T>(attempt: () => T, hadNoTime: (outcome: T | Error) => boolean = tookTooLong): T {
  for (let turn = 1; ; turn += 1) {
    try {
      const outcome = attempt();
      if (turn === TURNS || !hadNoTime(outcome)) return outcome;
    } catch (error) {
      if (turn === TURNS || !(error instanceof Error) || !hadNoTime(error)) throw error;
    }
  }
}

/** Of a mapping. */
const tookTooLong = (outcome: unknown) => outcome instanceof Error && outcome.message.includes('takes too long');
