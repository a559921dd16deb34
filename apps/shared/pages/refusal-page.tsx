import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { isDatabaseAway } from '../../../workflows/domain/errors.ts';
import { type BodyFault, bodyFaultOf, NOT_JSON } from '../http/faithful-json.ts';
import { Refusal } from '../http/csrf.ts';
import { Page, renderPage } from './layout.tsx';

/** For `Retry-After` of an answer with 503. */
export const RETRY_AFTER_SECONDS = 5;

/** Whether the answer should be a page. Programs send a bearer token, and get JSON. */
export function wantsPage(request: Request): boolean {
  return request.get('Authorization') === undefined && request.accepts(['json', 'html']) === 'html';
}

/** For an address without a route. */
export const nothingHere: RequestHandler = (_request, _response, next) =>
  next(new Refusal(404, 'There is nothing here', 'The address may be mistyped.', { href: '/', label: 'To the start' }));

/** Faults of a body, in words for people. */
const BODY_REFUSALS: Readonly<Record<BodyFault['kind'], Refusal>> = {
  malformed: new Refusal(400, 'The body cannot be read', 'Send well-formed JSON.'),
  too_large: new Refusal(413, 'The body is too large', 'Send less.'),
  encoding: new Refusal(415, 'The body cannot be read', 'Send it uncompressed.'),
  charset: new Refusal(415, 'The body cannot be read', 'Send it as UTF-8.'),
  incomplete: new Refusal(400, 'The body cannot be read', 'Send all of it again.'),
};

/** Answers errors as pages or as JSON. An error that is not a refusal is our own fault, which only the log describes. */
export function refusalHandler({ section, log }: { section: string; log: Logger }): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const refusal = asRefusal(error) ?? broken();
    if (refusal.status === 503) response.set('Retry-After', String(RETRY_AFTER_SECONDS));
    if (refusal.status >= 500) log.error({ err: error }, 'a request could not be served');
    response.status(refusal.status);
    if (wantsPage(request)) return response.send(renderPage(<RefusalPage refusal={refusal} section={section} />));
    const { message: title, status, nextStep: detail } = refusal;
    response.type('application/problem+json').send(JSON.stringify({ type: 'about:blank', title, status, detail }));
  };
}

function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (isDatabaseAway(error)) return away();
  const fault = bodyFaultOf(error);
  if (fault === undefined) return undefined;
  const refusal = BODY_REFUSALS[fault.kind];
  if (fault.kind !== 'malformed' || fault.message === NOT_JSON) return refusal;
  return new Refusal(refusal.status, refusal.message, `Change it and send it again: ${fault.message}.`);
}

const away = () =>
  new Refusal(
    503,
    'Not available at the moment',
    'Try again in a few seconds. A change that you sent may or may not have been made: check before you repeat it.',
  );

const broken = () =>
  new Refusal(
    500,
    'Something went wrong here',
    'Your change may or may not have been made. Check before you repeat it.',
  );

function RefusalPage({ refusal, section }: { refusal: Refusal; section: string }) {
  const { message, nextStep, link } = refusal;
  return (
    <Page title={message} section={section}>
      <div class="card empty alone" data-refused>
        <h1>{message}</h1>
        <p>{nextStep}</p>
        {link && (
          <p>
            <a class="button" href={link.href}>
              {link.label}
            </a>
          </p>
        )}
      </div>
    </Page>
  );
}
