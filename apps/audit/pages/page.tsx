import type { ComponentChild } from 'preact';
import { renderToString } from 'preact-render-to-string';

interface PageProps {
  readonly title: string;
  readonly content: ComponentChild;
  readonly auditor?: string;
}

/** A whole HTML document. */
export function renderPage({ title, content, auditor }: PageProps): string {
  const document = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · Countersign`}</title>
        <link rel="stylesheet" href="/audit.css" />
      </head>
      <body>
        {auditor && <p>{auditor}</p>}
        <main>{content}</main>
      </body>
    </html>
  );
  return `<!doctype html>${renderToString(document)}`;
}
