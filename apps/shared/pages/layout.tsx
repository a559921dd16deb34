import type { Response } from 'express';
import { type ComponentChildren, createContext, type VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { useContext } from 'preact/hooks';
import { visibleTitle } from './visible-text.ts';
import { Visible } from './visible.tsx';

/** The person who is signed in, and the token that their forms have to send. */
export interface SignedIn {
  readonly name: string;
  readonly csrfToken: string;
}

/** Names the person of this request's session to its page, also to a page that refuses it. */
export const setSignedIn = (response: Response, person: SignedIn): void => void (response.locals['signedIn'] = person);
export const signedIn = (response: Response) => response.locals['signedIn'] as SignedIn | undefined;

interface PageProps {
  readonly title: string;
  /** `Approvals` or `Audit`, for example. */
  readonly section: string;
  readonly person?: SignedIn | undefined;
  readonly children: ComponentChildren;
}

/** The frame of every page: a link past the head, the person who is signed in, and the sign-out. */
export function Page({ title, section, person, children }: PageProps) {
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${visibleTitle(title)} · Countersign ${section}`}</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/style.css" />
        <script src="/assets/script.js" defer />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        <header class="head">
          <div class="head-inner">
            <a class="brand" href="/">
              <img src="/assets/icon.svg" alt="" width="22" height="22" />
              <span>
                Countersign <span class="brand-section">{section}</span>
              </span>
            </a>
            {person && <Person {...person} />}
          </div>
        </header>
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </body>
    </html>
  );
}

function Person({ name, csrfToken }: SignedIn) {
  return (
    <form class="person" method="post" action="/sign-out">
      <span class="person-name">
        <Visible text={name} />
      </span>
      <input type="hidden" name="csrfToken" value={csrfToken} />
      <button class="quiet" type="submit">
        Sign out
      </button>
    </form>
  );
}

/** Renders a page as a whole document. `now` is in milliseconds since 1970, and required for a page with relative times. */
export function renderPage(page: VNode, now?: number): string {
  return `<!doctype html>${renderToString(<PageTime.Provider value={now}>{page}</PageTime.Provider>)}`;
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** `3 minutes ago`, `in 2 hours`: in the largest unit that fits. */
function relativeTime(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1_000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  if (unit === 'second' && Math.abs(seconds) < 10) return 'just now';
  return relative.format(Math.round(seconds / size), unit);
}

/** When the page is rendered, in milliseconds since 1970, for relative times. */
const PageTime = createContext<number | undefined>(undefined);

/** When the page is rendered. Throws in a page that is rendered without `now`. */
export function usePageTime(): Date {
  const now = useContext(PageTime);
  if (now === undefined) throw new Error('this page was rendered without the time');
  return new Date(now);
}

/** A relative time, with the exact instant as its title. The script keeps it up to date. */
export function Time({ at }: { at: string }) {
  const now = usePageTime();
  const instant = new Date(at);
  return (
    <time dateTime={instant.toISOString()} title={`${absolute.format(instant)} UTC`} data-relative>
      {relativeTime(instant, now)}
    </time>
  );
}

/** An instant in full: `21 Nov 2026, 12:00 UTC`. The script says it in the reader's zone, with UTC as its title. */
export function Instant({ at }: { at: string }) {
  const instant = new Date(at);
  const utc = `${absolute.format(instant)} UTC`;
  return (
    <time dateTime={instant.toISOString()} title={utc} data-local>
      {utc}
    </time>
  );
}

const COUNTED = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;
const SEVERAL_DAYS = 172_800;

/** `in 3 d`, `in 1 h 34 min`: what is left until an instant, rounded down, so that it never says more; `over` after it. */
export function timeLeft(at: Date, now: Date): string {
  const seconds = Math.floor((at.getTime() - now.getTime()) / 1_000);
  if (seconds <= 0) return 'over';
  const first = COUNTED.findIndex(([, size]) => seconds >= size);
  const units = seconds < SEVERAL_DAYS ? 2 : 1;
  let left = seconds;
  const parts = COUNTED.slice(first, first + units).map(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? '' : ` ${count} ${unit}`;
  });
  return `in${parts.join('')}`;
}

/** The time that is left until a deadline, which the script keeps up to date. */
export function Countdown({ to }: { to: string }) {
  const now = usePageTime();
  const instant = new Date(to);
  return (
    <time dateTime={instant.toISOString()} title={`${absolute.format(instant)} UTC`} data-countdown>
      {timeLeft(instant, now)}
    </time>
  );
}

/** Names with their values. A row that is false or empty is left out. */
export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren] | false | '' | undefined)[] }) {
  return (
    <dl class="facts">
      {rows.map(
        (row) =>
          row && (
            <div key={row[0]}>
              <dt>{row[0]}</dt>
              <dd>{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
