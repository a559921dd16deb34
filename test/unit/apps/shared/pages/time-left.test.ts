import { expect, it } from '@jest/globals';
import { timeLeft } from '../../../../../apps/shared/pages/layout.tsx';

const now = new Date('2026-11-26T12:00:00.900Z');
const after = (seconds: number) => timeLeft(new Date(Date.parse('2026-11-26T12:00:00.000Z') + seconds * 1_000), now);

it.each([
  [-1, 'over'],
  [0, 'over'],
  [1.9, 'in 1 s'],
  [60, 'in 59 s'],
  [61, 'in 1 min'],
  [95, 'in 1 min 34 s'],
  [5_400, 'in 1 h 29 min'],
  [7_201, 'in 2 h'],
  [90_061, 'in 1 d 1 h'],
  [172_801, 'in 2 d'],
  [604_800, 'in 6 d'],
])('never says that more time is left than there is: %d s', (seconds, words) => {
  expect(after(seconds)).toBe(words);
});
