import type { Request, Response } from 'express';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { renderPage } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { voterOf } from './authenticate.ts';
import { findReadable, type ReadingHttp } from './seat.ts';
import type { Typed } from './refused.tsx';
import { RequestPage } from './request-page.tsx';

interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
}

/**
 * Handles a form of the request page. After a refusal, a person gets the page again with the request as it is now and the text they
 * typed; a program gets the refusal.
 */
export async function orComeBack(
  http: ReadingHttp,
  { request, response, requestId }: Exchange,
  typed: Typed,
  attempt: () => Promise<void>,
): Promise<void> {
  try {
    await attempt();
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || !wantsPage(request)) throw refusal;
    const visitor = voterOf(request, response);
    const reading = await findReadable(http, visitor, requestId).catch(() => {
      throw refusal;
    });
    const person = { name: visitor.name, csrfToken: csrfTokenOf(request) };
    const props = { ...reading, person, refused: { title: refusal.message, nextStep: refusal.nextStep, typed } };
    response.status(refusal.status).send(renderPage(<RequestPage {...props} />, http.clock.now()));
  }
}
