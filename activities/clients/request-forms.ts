import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Json } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { RequestForms } from '../../workflows/domain/ports.ts';
import { requestForm, type RequestForm } from '../../workflows/domain/submission-input/request-form.ts';
import { sendHttp, type HttpAnswer } from './http.ts';

const TIMEOUT_MS = 5_000;
/** A form of twenty fields needs far less. In UTF-16 code units. */
const MAX_SCHEMA_LENGTH = 64 * 1024;
const REMEMBERED_FORMS = 100;
const REMEMBER_MS = 60_000;

/**
 * Forms by the schemas that denials name. A schema is fetched without a credential and without following anybody, from an
 * address that was found to be on the host of the service itself; what is understood of it is kept for a minute.
 * @see ARAP-FRM-02, ARAP-SEC-02
 */
export function createRequestForms(log: Logger): RequestForms {
  const known = new LRUCache<string, RequestForm>({ max: REMEMBERED_FORMS, ttl: REMEMBER_MS });
  return {
    async at(schemaUrl) {
      const remembered = known.get(schemaUrl);
      if (remembered !== undefined) return remembered;
      const form = readForm(await fetchSchema(schemaUrl));
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

/** Throws `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when there may be an answer later. */
async function fetchSchema(url: string): Promise<HttpAnswer> {
  let answer: HttpAnswer;
  try {
    answer = await sendHttp(url, { method: 'GET', headers: { accept: 'application/json' }, timeoutMs: TIMEOUT_MS });
  } catch (cause) {
    throw unavailable('the schema of an access request cannot be fetched', cause);
  }
  if (answer.status < 500 && answer.status !== 429) return answer;
  throw unavailable(`the schema of an access request was answered with ${answer.status}`);
}

function readForm({ status, text }: HttpAnswer): RequestForm | { readonly problem: string } {
  if (status !== 200) return { problem: `the schema was answered with ${status}` };
  if (text.length > MAX_SCHEMA_LENGTH) return { problem: 'the schema is too large' };
  try {
    return requestForm(JSON.parse(text) as Json);
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'the schema is no JSON' };
    throw error;
  }
}

function unavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', message, { cause });
}
