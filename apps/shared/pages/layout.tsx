import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { PageTime } from './time.tsx';
import { Visible } from './visible.tsx';
import { visibleTitle } from './visible-text.ts';

/** Who is signed in, and the token that their forms have to send. */
export interface SignedIn {
  readonly name: string;
  readonly csrfToken: string;
}

export interface PageProps {
  readonly title: string;
  /** What these pages are for: `Approvals`, `Audit`. */
  readonly section: string;
  readonly person?: SignedIn | undefined;
  readonly children: ComponentChildren;
}

/** The frame that every page has: a way past the head, who is signed in, and the way out. */
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

/**
 * A page as the text of a whole document.
 *
 * @param now Milliseconds since 1970, for a page with relative times.
 */
export function renderPage(page: VNode, now?: number): string {
  return `<!doctype html>${renderToString(<PageTime.Provider value={now}>{page}</PageTime.Provider>)}`;
}
