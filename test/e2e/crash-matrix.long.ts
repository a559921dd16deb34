import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chosenCells } from '../crash/matrix.ts';
import { startRig, type Rig } from '../crash/rig.ts';
import { runTask } from '../crash/run-matrix.ts';
import { STEPS, stepOf } from '../crash/steps.ts';

/** One fault of each kind, at the most critical places. `npm run test:crash` runs all of them. */
const CHOSEN = [
  'C1b/throw',
  'C2b/kill',
  'C3b/throw',
  'A3b/kill',
  'R4b/throw',
  'G1b/throw',
  'E3b/throw',
  'E4c/kill',
  'E6b/throw',
  'E8b/throw',
] as const;

describe('twenty simultaneous calls during a fault', () => {
  let rig!: Rig;
  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig?.stop());

  const cells = chosenCells(CHOSEN).map((cell) => ({
    cell,
    when: `${cell.action} in the ${stepOf(cell.label).processes.join(' or ')}`,
    where: { a: 'before', b: 'with the answer lost of', c: 'after' }[cell.label.slice(-1)],
    step: STEPS[cell.label.slice(0, -1) as keyof typeof STEPS].at,
  }));
  it.each(cells)('keep every promise: $when $where $step', async ({ cell }) => {
    const { violations, ends } = await runTask(rig, { cell, repeat: 1 });
    expect(violations).toEqual([]);
    expect(ends['denied']).toBe(4);
  });
});
