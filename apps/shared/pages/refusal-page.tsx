import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { CountersignError, isDatabaseAway } from '../../../workflows/domain/errors.ts';
import { type BodyFault, bodyFaultOf, NOT_JSON } from '../http/faithful-json.ts';
import { Refusal } from '../http/csrf.ts';
import { Page, type SignedIn, renderPage, signedIn } from './layout.tsx';

/** For `Retry-After` of an answer with 503. */
const RETRY_AFTER_SECONDS = 5;

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

interface Refusing {
  readonly section: string;
  readonly log: Logger;
  /** The site's own words for an error that is not a refusal. */
  readonly inWords?: (error: unknown) => Refusal | undefined;
  /** Where a refusal without a link leads, unless the visitor may read nothing. */
  readonly home?: Refusal['link'];
}

/** Answers errors as pages or as JSON (RFC 9457). An error that is not a refusal is our own fault, which only the log describes. */
export function refusalHandler({ section, log, inWords = asRefusal, home }: Refusing): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const refusal = error instanceof Refusal ? error : (common(error) ?? inWords(error) ?? broken());
    if (refusal.status === 503) response.set('Retry-After', String(RETRY_AFTER_SECONDS));
    if (refusal.status >= 500) log.error({ err: error }, 'a request could not be served');
    response.status(refusal.status);
    if (wantsPage(request)) {
      const link = refusal.link ?? (refusal.status === 403 ? undefined : home);
      const page = <RefusalPage {...{ refusal, link, section }} person={signedIn(response)} />;
      return response.send(renderPage(page));
    }
    const { message: title, status, nextStep: detail } = refusal;
    response.type('application/problem+json').send(JSON.stringify({ type: 'about:blank', title, status, detail }));
  };
}

/** The refusals that are the same on every site. */
function common(error: unknown): Refusal | undefined {
  if (error instanceof URIError) {
    return new Refusal(
      400,
      'This address cannot be read',
      'Check how it was copied: a % in it starts no valid escape.',
    );
  }
  if (error instanceof CountersignError && error.code === 'ERR_IDENTITY_PROVIDER_UNAVAILABLE') {
    return new Refusal(503, 'The identity provider does not answer', 'Try again in a few seconds.');
  }
  return undefined;
}

function asRefusal(error: unknown): Refusal | undefined {
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

interface RefusalPageProps {
  readonly refusal: Refusal;
  readonly link: Refusal['link'];
  readonly section: string;
  readonly person: SignedIn | undefined;
}

function RefusalPage({ refusal: { message, nextStep }, link, section, person }: RefusalPageProps) {
  return (
    <Page title={message} section={section} person={person}>
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
