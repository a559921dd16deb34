import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { isDatabaseAway } from '../../../workflows/domain/errors.ts';
import { type BodyFault, bodyFaultOf, NOT_JSON } from '../http/faithful-json.ts';
import { Refusal } from '../http/csrf.ts';
import { Page, renderPage } from './layout.tsx';

/** After how many seconds it is worth to ask again what was answered with 503. */
export const RETRY_AFTER_SECONDS = 5;

/** Whether the answer should be a page. A bearer token is sent by programs, and they get JSON. */
export function wantsPage(request: Request): boolean {
  return request.get('Authorization') === undefined && request.accepts(['json', 'html']) === 'html';
}

/** For an address that nothing answered. */
export const nothingHere: RequestHandler = (_request, _response, next) =>
  next(new Refusal(404, 'There is nothing here', 'The address may be mistyped.', { href: '/', label: 'To the start' }));

/** Faults of a body as people read them. */
const BODY_REFUSALS: Readonly<Record<BodyFault['kind'], Refusal>> = {
  malformed: new Refusal(400, 'The body cannot be read', 'Send well-formed JSON.'),
  too_large: new Refusal(413, 'That is too much', 'Send less.'),
  encoding: new Refusal(415, 'The body cannot be read', 'Send it uncompressed.'),
  charset: new Refusal(415, 'The body cannot be read', 'Send it as UTF-8.'),
  incomplete: new Refusal(400, 'The body cannot be read', 'Send it again, to its end.'),
};

/** Answers errors as pages or as JSON. What is not a refusal is a fault of ours, which only the log describes. */
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
  return new Refusal(refusal.status, refusal.message, `Send it otherwise: ${fault.message}.`);
}

const away = () =>
  new Refusal(
    503,
    'Not available at the moment',
    'Try again in a few seconds. If you changed something, it is not certain whether it was done: look, before you do it again.',
  );

const broken = () =>
  new Refusal(500, 'Something went wrong here', 'It is not certain whether it was done. Look, before you do it again.');

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
