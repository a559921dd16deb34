// Preloaded into a process of the product that a test starts: beside its timers, its clock of durations leaves out what it stood
// still for, as if that had not been. What the product does after a standstill is tested where the test makes it.
import { setInterval } from 'node:timers';
import './standing-still.mjs';

/** In milliseconds. A process that looked at no clock for so long did not run. */
const STOOD_STILL_MS = 1_000;
const LOOK_MS = 100;

const clock = performance.now.bind(performance);
let [seen, lost] = [clock(), 0];
performance.now = () => {
  const now = clock();
  if (now - seen > STOOD_STILL_MS) lost += now - seen;
  seen = now;
  return now - lost;
};
setInterval(performance.now, LOOK_MS).unref();
