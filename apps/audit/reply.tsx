import type { Request, Response } from 'express';
import type { ComponentChild } from 'preact';
import { Page, renderPage, signedIn } from '../shared/pages/layout.tsx';
import { wantsPage } from '../shared/pages/refusal-page.tsx';

interface Answer {
  readonly title: string;
  readonly data: unknown;
  readonly page: () => ComponentChild;
}

/** The same answer as a page for browsers and as JSON for programs. */
export function reply(request: Request, response: Response, { title, data, page }: Answer): void {
  if (!wantsPage(request)) return void response.json(data);
  const document = (
    <Page title={title} section="Audit" person={signedIn(response)}>
      <link rel="stylesheet" href="/assets/audit.css" />
      {page()}
    </Page>
  );
  response.type('html').send(renderPage(document));
}
