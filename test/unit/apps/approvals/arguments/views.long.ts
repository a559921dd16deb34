import { describe, expect, it } from '@jest/globals';
import { tryRandom } from './invertible.tsx';

/** As many as `COUNTERSIGN_ARGUMENT_SETS` says. */
const SETS = Number(process.env['COUNTERSIGN_ARGUMENT_SETS'] ?? 100_000);
const PER_TEST = 5_000;

describe('each view of the arguments', () => {
  it.each(Array.from({ length: Math.ceil(SETS / PER_TEST) }, (_, at) => at))(
    'is read back to the byte: random sets, part %i',
    (part) => {
      const count = Math.min(PER_TEST, SETS - part * PER_TEST);
      expect(tryRandom(`part ${part}`, count)).toEqual({ tried: count, lost: [] });
    },
  );
});
