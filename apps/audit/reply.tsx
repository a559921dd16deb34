import type { Request, Response } from 'express';
import type { ComponentChild } from 'preact';
import { Page, renderPage, type SignedIn } from '../shared/pages/layout.tsx';
import { RETRY_AFTER_SECONDS, wantsPage } from '../shared/pages/refusal-page.tsx';
import { ToTheList } from './pages/parts.tsx';

/** The same answer as a page for browsers and as JSON for everything else. */
export interface Reply {
  wantsPage(request: Request): boolean;
  send(
    request: Request,
    response: Response,
    answer: { title: string; data: unknown; page: () => ComponentChild },
  ): void;
  problem(request: Request, response: Response, problem: Problem): void;
}

/** `personOf`: who is signed in, for the head of the page. */
export function createReply(personOf: (response: Response) => SignedIn | undefined): Reply {
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
    wantsPage,
    send(request, response, answer) {
      if (wantsPage(request)) page(response, answer.title, answer.page());
      else response.json(answer.data);
    },
    problem(request, response, problem) {
      response.status(problem.status);
      if (problem.status === 503) response.set('Retry-After', String(RETRY_AFTER_SECONDS));
      if (wantsPage(request)) return page(response, problem.title, <ProblemPage problem={problem} />);
      const { status, title, detail } = problem;
      response.type('application/problem+json').send(JSON.stringify({ type: 'about:blank', status, title, detail }));
    },
  };
}

/** What went wrong, for a person and for a program. @see RFC 9457 */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail?: string;
  /** Where a person goes from here. Default: the list. */
  readonly link?: { readonly href: string; readonly label: string };
}

/** Says what went wrong and what to do about it. */
function ProblemPage({ problem }: { problem: Problem }) {
  return (
    <>
      {!problem.link && problem.status !== 403 && <ToTheList />}
      <div class="card audit-problem">
        <h1>{problem.title}</h1>
        {problem.detail && <p>{problem.detail}</p>}
        {problem.link && (
          <a class="button" href={problem.link.href}>
            {problem.link.label}
          </a>
        )}
      </div>
    </>
  );
}
