/** Whether tests take the time that a thorough look takes: `npm run test:postgres`, `npm run test:engine`. */
const IS_THOROUGH = process.env['COUNTERSIGN_THOROUGH_TESTS'] === '1';

/** How often something is done, or for how long: few times in every run of the tests, many in a thorough one. */
export const times = (few: number, many: number): number => (IS_THOROUGH ? many : few);

/** Does it for each of so many, this many at a time. */
export async function inParallel(count: number, atOnce: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}
