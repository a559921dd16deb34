/** Whether tests take the time of a thorough run: a section at length of `npm run test:long`, or `--thorough`. */
export const IS_THOROUGH = process.env['COUNTERSIGN_THOROUGH_TESTS'] === '1';

/** The number of repetitions, or a duration: small in every test run, large in a thorough one. */
export const times = (few: number, many: number): number => (IS_THOROUGH ? many : few);

/** The cases of every test run, or all of a thorough one. */
export const cases = <Case>(few: readonly NoInfer<Case>[], all: readonly Case[]): readonly Case[] =>
  IS_THOROUGH ? all : few;

/** Does it for each of this many items, this many at a time. */
export async function inParallel(count: number, atOnce: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}
