import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** `3 minutes ago`, `in 2 hours`: how far an instant is from another, in the largest unit that fits. */
export function relativeTime(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1_000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  if (unit === 'second' && Math.abs(seconds) < 10) return 'just now';
  return relative.format(Math.round(seconds / size), unit);
}

/** When the page is made, in milliseconds since 1970: relative times are told from there. */
export const PageTime = createContext<number | undefined>(undefined);

/** When the page is made. Throws in a page that was given no time. */
export function usePageTime(): Date {
  const now = useContext(PageTime);
  if (now === undefined) throw new Error('this page was rendered without the time');
  return new Date(now);
}

/** An instant: how far away it is, for people, and exactly, for everybody who wants to know. The script keeps it fresh. */
export function Time({ at }: { at: string }) {
  const now = usePageTime();
  const instant = new Date(at);
  return (
    <time dateTime={instant.toISOString()} title={`${absolute.format(instant)} UTC`} data-relative>
      {relativeTime(instant, now)}
    </time>
  );
}

/** An instant in full: `21 Nov 2026, 12:00 UTC`. */
export function Instant({ at }: { at: string }) {
  const instant = new Date(at);
  return <time dateTime={instant.toISOString()}>{`${absolute.format(instant)} UTC`}</time>;
}
