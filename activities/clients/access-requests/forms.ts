import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Timing } from '../../../apps/shared/limits.ts';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { parseAnswer } from '../../../workflows/domain/json-answer.ts';
import type { RequestForms } from '../../../workflows/domain/ports.ts';
import { requestForm, type RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import { type HttpAnswer, sendHttp } from '../http.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Credential } from '../credential.ts';

const REMEMBERED_FORMS = 100;
const REMEMBER_MS = 60_000;

/**
 * Forms by the schemas that denials name. A schema is fetched without a credential and without following anybody, from an
 * address that was found to be on the host of the service itself; what is understood of it is kept for a minute.
 * @see ARAP-FRM-02, ARAP-SEC-02
 */
export function createRequestForms(log: Logger, time: Timing): RequestForms {
  const known = new LRUCache<string, RequestForm>({ max: REMEMBERED_FORMS, ttl: REMEMBER_MS });
  return {
    async at(schemaUrl) {
      const remembered = known.get(schemaUrl);
      if (remembered !== undefined) return remembered;
      const what = 'the schema of an access request';
      const form = readForm(await fetchRequestDocument(schemaUrl, { what, ...time }));
      if ('problem' in form) {
        const { problem } = form;
        log.error({ schemaUrl, problem }, 'what a request needs cannot be asked for; the denial counts as final');
        return undefined;
      }
      known.set(schemaUrl, form);
      return form;
    },
  };
}

function readForm({ status, text }: HttpAnswer): RequestForm | { readonly problem: string } {
  if (status !== 200) return { problem: `the schema was answered with ${status}` };
  if (text.length > MAX_DOCUMENT_LENGTH) return { problem: 'the schema is too large' };
  try {
    return requestForm(parseAnswer(text) as Json);
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'the schema is no JSON' };
    throw error;
  }
}

/** What a form is made of is far smaller. In UTF-16 code units. */
export const MAX_DOCUMENT_LENGTH = 64 * 1024;

interface Fetching extends Timing {
  /** For errors. */
  readonly what: string;
  /** Less than the limit of a document, when less time is left. */
  readonly timeoutMs?: number;
  readonly credential?: Credential;
}

/**
 * Fetches what says how a request is to be filled in: once, following nobody, and with a credential only where one is given. Answers what
 * came, whatever that is. Throws `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when there may be an answer later.
 */
export async function fetchRequestDocument(
  url: string,
  { what, clock, limits, timeoutMs = limits.requestDocumentMs, credential }: Fetching,
): Promise<HttpAnswer> {
  const headers = { ...credential?.headers, accept: 'application/json' };
  const answer = await sendHttp(url, { method: 'GET', headers, timeoutMs, clock, via: credential?.via }).catch(
    (cause: unknown) => {
      throw documentUnavailable(`${what} cannot be fetched`, cause);
    },
  );
  if (answer.status < 500 && answer.status !== 429) return answer;
  throw documentUnavailable(`${what} was answered with ${answer.status}`);
}

/** There may be one later. */
export function documentUnavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', message, { cause });
}
