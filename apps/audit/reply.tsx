import type { Request, Response } from 'express';
import type { ComponentChild } from 'preact';
import type { Refusal } from '../shared/http/csrf.ts';
import { Page, renderPage, type SignedIn } from '../shared/pages/layout.tsx';
import { RETRY_AFTER_SECONDS, wantsPage } from '../shared/pages/refusal-page.tsx';
import { ToTheList } from './pages/parts.tsx';

export type Reply = ReturnType<typeof createReply>;

/** The same answer as a page for browsers and as JSON for programs. `personOf`: who is signed in, for the head of the page. */
export function createReply(personOf: (response: Response) => SignedIn | undefined) {
  const page = (response: Response, title: string, content: ComponentChild) => {
    const document = (
      <Page title={title} section="Audit" person={personOf(response)}>
        <link rel="stylesheet" href="/assets/audit.css" />
        {content}
      </Page>
    );
    response.type('html').send(renderPage(document));
  };
  return {
    send(
      request: Request,
      response: Response,
      answer: { readonly title: string; readonly data: unknown; readonly page: () => ComponentChild },
    ): void {
      if (wantsPage(request)) page(response, answer.title, answer.page());
      else response.json(answer.data);
    },
    /** For a program as RFC 9457 says. */
    refuse(request: Request, response: Response, refusal: Refusal): void {
      const { status, message: title, nextStep: detail } = refusal;
      response.status(status);
      if (status === 503) response.set('Retry-After', String(RETRY_AFTER_SECONDS));
      if (wantsPage(request)) return page(response, title, <RefusalPage refusal={refusal} />);
      response.type('application/problem+json').send(JSON.stringify({ type: 'about:blank', status, title, detail }));
    },
  };
}

function RefusalPage({ refusal: { status, message, nextStep, link } }: { refusal: Refusal }) {
  return (
    <>
      {!link && status !== 403 && <ToTheList />}
      <div class="card audit-problem">
        <h1>{message}</h1>
        <p>{nextStep}</p>
        {link && (
          <a class="button" href={link.href}>
            {link.label}
          </a>
        )}
      </div>
    </>
  );
}
