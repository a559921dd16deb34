// Preloaded into a process: its clock is wrong by this many milliseconds. Its timers are right: they count, and do not
// show the time.
const shift = Number(process.env.COUNTERSIGN_TEST_CLOCK_SHIFT_MS ?? 0);
const RealDate = Date;
const now = () => RealDate.now() + shift;

globalThis.Date = class Date extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }
  static now() {
    return now();
  }
};
