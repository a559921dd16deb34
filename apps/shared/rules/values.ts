import { isObject, type Json, ownProperty } from '../../../workflows/domain/canonical-json.ts';

/** Cedar compares numbers with four decimal places. Bounds beyond this could not be told from the greatest number. */
const GREATEST_BOUND = 900_000_000_000_000;
const UNIT = 10_000n;

/**
 * A number as rules compare it: `lower` is the greatest multiple of 0.0001 that is not above the number, and `isExact` says whether it is
 * the number. A number beyond the range of Cedar's decimals becomes the nearest one, which is not exact. So every number is above, below
 * or equal to each bound, as it was written.
 *
 * @param number As JSON has it: its shortest decimal text is what counts, not the binary fraction behind it.
 */
export function decimalOf(number: number): { readonly lower: string; readonly isExact: boolean } {
  const [units, isExact] = unitsOf(number);
  const digits = (units < 0n ? -units : units).toString().padStart(5, '0');
  const sign = units < 0n ? '-' : '';
  return { lower: `${sign}${digits.slice(0, -4)}.${digits.slice(-4)}`, isExact };
}

/** Whether a rule can name the number: its decimal has at most four places, and is within the range. */
export const isComparable = (number: number): boolean =>
  Math.abs(number) <= GREATEST_BOUND && decimalOf(number).isExact;

function unitsOf(number: number): [units: bigint, isExact: boolean] {
  const limit = BigInt(GREATEST_BOUND) * UNIT;
  if (number > GREATEST_BOUND) return [limit + 1n, false];
  if (number < -GREATEST_BOUND) return [-limit - 1n, false];
  const text = String(Math.abs(number));
  // Numbers close to zero are written with an exponent, and are less than one unit.
  if (text.includes('e')) return [number < 0 ? -1n : 0n, false];
  const [whole = '', fraction = ''] = text.split('.');
  const magnitude = BigInt(whole) * UNIT + BigInt(fraction.slice(0, 4).padEnd(4, '0'));
  const isExact = fraction.length <= 4;
  if (number >= 0) return [magnitude, isExact];
  return [isExact ? -magnitude : -magnitude - 1n, isExact];
}

/** Whether a text has half of a character, which Cedar cannot hold. Such a text cannot be tested. */
export const hasLoneSurrogate = (text: string): boolean => /\p{Surrogate}/u.test(text);

/** The value at a path of member names. `null` where there is none, since rules do not tell the two apart. */
export function memberAt(value: Json, path: readonly string[]): Json {
  let member = value;
  for (const name of path) member = isObject(member) ? (ownProperty(member, name) ?? null) : null;
  return member;
}
