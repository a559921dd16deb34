import { DAYS, type Day } from './rules.ts';

/** What clocks and calendars of a time zone show. */
export interface LocalTime {
  readonly day: Day;
  /** Whole minutes since midnight, as the clock shows them: an hour that is repeated has the same minutes twice. */
  readonly minute: number;
  /** `2026-11-28` */
  readonly date: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const fields = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
  const format = new Intl.DateTimeFormat('en-GB', { ...fields, hourCycle: 'h23', calendar: 'gregory', timeZone });
  formats.set(timeZone, format);
  return format;
}

/**
 * The time in a time zone. Throws a `RangeError` for a zone that this machine does not know.
 *
 * @param at In milliseconds since 1970.
 */
export function localTime(at: number, timeZone: string): LocalTime {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const { year = '', month = '', day = '', hour = '', minute = '' } = parts;
  const date = `${year.padStart(4, '0')}-${month}-${day}`;
  const weekday = DAYS[new Date(`${date}T00:00Z`).getUTCDay()];
  if (weekday === undefined) throw new RangeError('no day of the week is known for this time');
  return { day: weekday, minute: Number(hour) * 60 + Number(minute), date };
}
