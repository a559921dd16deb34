import { createHash } from 'node:crypto';
import { renderToString } from 'preact-render-to-string';
import { styleSheet } from './assets.ts';

/** One answer with everything that it needs, and the content security policy that allows exactly that. */
export interface LonePage {
  readonly html: string;
  readonly policy: string;
}

/**
 * A page that needs nothing else of its server, which may be gone once the answer has arrived: its style is in it, and it has no script or
 * picture. `title` and `nextStep` are our own words, and never those of a request. `link` leads to a site that the operator trusts.
 */
export function lonePage(
  title: string,
  nextStep: string,
  link?: { readonly href: string; readonly label: string },
): LonePage {
  const style = styleSheet();
  const page = (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Countersign`}</title>
        <style dangerouslySetInnerHTML={{ __html: style }} />
      </head>
      <body>
        <main>
          <div class="card empty alone">
            <p>Countersign</p>
            <h1>{title}</h1>
            <p>{nextStep}</p>
            {link && (
              <p>
                <a class="button" href={link.href} rel="noreferrer">
                  {link.label}
                </a>
              </p>
            )}
          </div>
        </main>
      </body>
    </html>
  );
  return { html: `<!doctype html>${renderToString(page)}`, policy: policyFor(style) };
}

/** @see Content Security Policy Level 3, hash-source */
const policyFor = (style: string) =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
