import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import * as z from 'zod';
import type { Timing } from '../../../apps/shared/limits.ts';
import { type Json, valueAt } from '../../../workflows/domain/canonical-json.ts';
import { parseAnswer } from '../../../workflows/domain/faithful-json.ts';
import type { RequestForms, RequestCatalogs } from '../../../workflows/domain/ports.ts';
import { requestForm, type RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import { type Credential, type HttpAnswer, type IsTrusted, jsonIn, sendHttp } from '../http.ts';
import { unavailable } from './client.ts';
import { cataloguedForm, type CatalogReference } from '../../../workflows/domain/submission-input/catalogs.ts';
import {
  MAX_OPTION,
  MAX_TITLE,
  type Option,
  shownText,
} from '../../../workflows/domain/submission-input/form-field.ts';

const REMEMBERED_FORMS = 100;
const REMEMBER_MS = 60_000;

/**
 * Forms by the schemas that denials name. A schema is fetched without a credential and without following redirects, from a trusted
 * address; the form that it gives is kept for a minute.
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
        log.error({ schemaUrl, problem }, 'no form can ask for the input of a request; the denial counts as final');
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

/** Far larger than a usable document. In UTF-16 code units. */
const MAX_DOCUMENT_LENGTH = 64 * 1024;

interface Fetching extends Timing {
  readonly what: string;
  /** Less than the limit of a document, when less time is left. */
  readonly timeoutMs?: number;
  readonly credential?: Credential;
}

/**
 * Fetches a document of a form: once, without following redirects, and with a credential only where one is given. Answers any kind
 * of answer. Throws `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when there may be another one later.
 */
async function fetchRequestDocument(
  url: string,
  { what, clock, limits, timeoutMs = limits.requestDocumentMs, credential }: Fetching,
): Promise<HttpAnswer> {
  const headers = { ...credential?.headers, accept: 'application/json' };
  const answer = await sendHttp(url, { method: 'GET', headers, timeoutMs, clock, via: credential?.via }).catch(
    (cause: unknown) => {
      throw unavailable(`${what} cannot be fetched`, cause);
    },
  );
  if (answer.status < 500 && answer.status !== 429) return answer;
  throw unavailable(`${what} was answered with ${answer.status}`);
}

/** A person does not read through a longer choice, and searches it (ARAP-CAT-15). */
const MAX_ITEMS = 50;
const MAX_PAGES = 10;

/** Neither `total` nor any other member of an answer decides (ARAP-CAT-12, ARAP-CAT-16). */
const pageBody = z.looseObject({ items: z.array(z.json()), next_cursor: z.string().nullish() });

/** The answer cannot be used. The message is for operators. */
class Unusable extends Error {
  override readonly name = 'Unusable';
}

interface RequestOptions extends Timing {
  /** Of the access request service: its catalogs are on its origin and behind its credentials (ARAP-CAT-06). */
  readonly credential: Credential;
  readonly isTrusted: IsTrusted;
  readonly log: Logger;
}

/**
 * Catalogs of an access request service. A document is fetched without a credential, a catalog with that of the service and from
 * its origin alone; no redirect is followed. Nothing is kept, since a choice has to be valid when it is submitted.
 * @see ARAP, PEP Resolution Rules; ARAP-SEC-02, ARAP-SEC-03
 */
export function createRequestCatalogs({ credential, isTrusted, log, ...time }: RequestOptions): RequestCatalogs {
  /** `undefined` for an answer that cannot be used; the log tells the operator. */
  const orNothing = async <T>(about: object, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      const problem = error.message;
      log.error(
        { ...about, problem, alarm: 'catalog_unusable' },
        `the input of a request cannot be chosen: ${NEXT_STEP}`,
      );
      return undefined;
    }
  };
  return {
    at: (catalogsUrl, form, submissionUrl) =>
      orNothing({ catalogsUrl }, async () => {
        const document = await fetchJson(catalogsUrl, time);
        if (document.length > MAX_DOCUMENT_LENGTH) throw new Unusable('the document is too large');
        const read = cataloguedForm(document.json as Json, form);
        if ('problem' in read) throw new Unusable(read.problem);
        for (const { endpoint } of read.references.values()) {
          if (!isTrusted(endpoint) || new URL(endpoint).origin !== new URL(submissionUrl).origin) {
            throw new Unusable('a catalog is on another origin than the endpoint for access requests');
          }
        }
        return read;
      }),

    look: (reference, { search, scope }) =>
      orNothing({ endpoint: reference.endpoint }, async () => {
        const url = addressOf(reference, { search, scope });
        return await collect(url, { reference, credential, ...time });
      }),
  };
}

const NEXT_STEP =
  'the denial counts as final. Mend the catalogs of the access request service; `problem` says what is wrong';

function addressOf(
  { endpoint, searchParameter }: CatalogReference,
  { search, scope }: { search: string | undefined; scope: ReadonlyMap<string, string> },
): URL {
  const url = new URL(endpoint);
  for (const [parameter, value] of scope) url.searchParams.set(parameter, value);
  if (search !== undefined) url.searchParams.set(searchParameter, search);
  url.searchParams.set('limit', String(MAX_ITEMS + 1));
  return url;
}

/** All pages of a short catalog. Cursors that repeat end it, and so does the greatest number of pages. */
async function collect(
  url: URL,
  { reference, credential, ...time }: Timing & { reference: CatalogReference; credential: Credential },
): Promise<readonly Option[] | 'too_many'> {
  const found = new Map<string, Option>();
  const cursors = new Set<string>();
  const { clock, limits } = time;
  const end = clock.monotonicMs() + limits.catalogMs;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const timeoutMs = Math.min(limits.requestDocumentMs, end - clock.monotonicMs());
    if (timeoutMs <= 0) throw unavailable('a catalog takes too long');
    const body = pageBody.safeParse((await fetchJson(url.href, { timeoutMs, credential, ...time })).json);
    if (!body.success) throw new Unusable('a catalog gave an answer that cannot be read');
    for (const item of body.data.items) {
      const option = optionOf(item, reference);
      if (!found.has(option.const)) found.set(option.const, option);
    }
    if (found.size > MAX_ITEMS) return 'too_many';
    const cursor = body.data.next_cursor ?? '';
    if (cursor === '' || cursors.has(cursor)) return distinct([...found.values()]);
    cursors.add(cursor);
    url.searchParams.set('cursor', cursor);
  }
  return 'too_many';
}

/** Adds the value to a label that two options have. */
function distinct(options: readonly Option[]): Option[] {
  const isAlone = ({ title }: Option) => options.filter((one) => one.title === title).length === 1;
  return options.map((one) => (isAlone(one) ? one : { ...one, title: `${one.title} (${one.const})` }));
}

/** Refuses a value that would be shown otherwise than it is sent. Shows the visible part of its label (ARAP-CAT-13). */
function optionOf(item: Json, { valuePath, labelPath }: CatalogReference): Option {
  const value = valueAt(item, valuePath);
  if (typeof value !== 'string' || shownText(value, MAX_OPTION) !== value) {
    throw new Unusable('an item of a catalog has no value that can be shown');
  }
  const label = valueAt(item, labelPath);
  return { const: value, title: (typeof label === 'string' ? shownText(label, MAX_TITLE) : undefined) ?? value };
}

async function fetchJson(url: string, of: Omit<Fetching, 'what'>): Promise<{ json: unknown; length: number }> {
  const answer = await fetchRequestDocument(url, { what: 'a catalog of an access request', ...of });
  if (answer.status !== 200)
    throw new Unusable(`a catalog, or the document that names it, was answered with ${answer.status}`);
  try {
    return { json: jsonIn(answer), length: answer.text.length };
  } catch {
    throw new Unusable('a catalog, or the document that names it, is no JSON');
  }
}
