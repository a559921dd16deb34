import type { Timing } from '../../apps/shared/limits.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Credential } from './credential.ts';
import { sendHttp, type HttpAnswer } from './http.ts';

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
