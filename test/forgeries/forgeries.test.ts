import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGround, type Ground } from './ground.ts';
import { ATTACK_NAMES, runForgeries } from './run-forgeries.ts';

/** Each once. `npm run test:forgeries` makes thousands. */
const COUNT = ATTACK_NAMES.length;

let ground!: Ground;
beforeAll(async () => void (ground = await startGround()));
afterAll(() => ground?.stop());

it(`accepts no forged or mutated token, approval, callback or decision, and accepts genuine ones (${COUNT}) [ARAP-BND-01, ARAP-BND-20, ARAP-CB-09, ARAP-CMP-13, ARAP-REV-06, ARAP-REV-07, ARAP-REV-17, PRJ-06, PRJ-10]`, async () => {
  const { faults, attacks, controls } = await runForgeries(ground, { count: COUNT, seed: 'a' });
  expect(faults).toEqual([]);
  expect(Object.keys(attacks).sort()).toEqual([...ATTACK_NAMES].sort());
  expect(controls).toBeGreaterThanOrEqual(12);
});
