import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { canonicalJson, type Json, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import type { Clock } from '../../shared/clock.ts';
import type { CatalogSettings } from '../../shared/config/approval-settings.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import { followFile } from '../../shared/followed-file.ts';
import { bearerHolderOf } from '../../shared/http/bearer.ts';
import type { SealedPages } from '../../shared/http/page-token.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { AccessRequestClient } from '../access-requests/clients.ts';
import { type DenialTrust, recallDenial } from '../access-requests/denial-token.ts';
import { ApiProblem } from '../access-requests/problem.ts';
import {
  type CatalogItem,
  type DeniedEvaluation,
  type ItemQuery,
  sortKeyOf,
  readItems,
  visibleItems,
} from './items.ts';

/** A denied evaluation, as signed by the PDP, and the template for a request about it. */
interface Denied extends DeniedEvaluation {
  readonly template: string | undefined;
}

/** One request for a page of a catalog. */
interface PageRequest {
  readonly asked: Denied;
  /** The client that asks. Its cursors work for no other client. */
  readonly client: string;
  /** Value of a query parameter. */
  readonly parameter: (name: string) => string | undefined;
  /** Text that the label or the value contains, case-insensitive. Absent: all items. */
  readonly search: string | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

export type Catalogs = ReturnType<typeof createCatalogs>;

interface Parts {
  readonly people: DirectorySource;
  readonly pages: SealedPages;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The catalogs of the configuration. Throws `ERR_CONFIG_INVALID` for a file that cannot be used. */
export function createCatalogs(settings: CatalogSettings, { people, pages, ...own }: Parts) {
  const sources = new Map(Object.entries(settings).map(([name, { file }]) => [name, itemsOf({ name, file }, own)]));
  const fieldsOf = (template: string | undefined) =>
    Object.entries(settings).flatMap(([name, { fields }]) =>
      fields.filter((one) => one.template === template).map((one) => ({ name, ...one })),
    );
  const visible = (name: string, query: ItemQuery) => visibleItems(sources.get(name)?.() ?? [], query, people());
  return {
    /** A page of a catalog. Throws an `ApiProblem`: 404 for a catalog that is unknown or has no field in the denied request, 400 for an invalid cursor. */
    async page(
      name: string,
      request: PageRequest,
    ): Promise<{ items: readonly Partial<CatalogItem>[]; next_cursor?: string }> {
      const fields = fieldsOf(request.asked.template).filter((one) => one.name === name);
      // An unknown catalog and one that this denial has no field for get the same answer.
      if (fields.length === 0) throw new ApiProblem(404, 'the denied request has no field with such a catalog');
      const parameters = [...new Set(fields.flatMap(({ scope }) => Object.keys(scope)))].sort();
      const digest = digestOf(name, request, parameters);
      const after = await openCursor(request, { pages, digest });
      const scope = (one: string) => (parameters.includes(one) ? request.parameter(one) : undefined);
      const found = [...visible(name, { asked: request.asked, scope }).values()]
        .filter((one) => fits(one, request.search) && sortKeyOf(one) > after)
        .slice(0, request.limit + 1);
      const items = found.slice(0, request.limit);
      const last = items.at(-1);
      if (last === undefined || found.length === items.length) return { items: items.map(shown) };
      const cursor = await pages.seal({ after: sortKeyOf(last) }, { requester: request.client, digest });
      return { items: items.map(shown), next_cursor: cursor };
    },

    /** Checks submitted values against the current catalogs. Throws an `ApiProblem` (400) that names the field, never its value. */
    check(submitted: object, asked: Denied): void {
      for (const { name, field, scope: sources } of fieldsOf(asked.template)) {
        const given = valueAt(submitted, field);
        if (given === undefined) continue;
        const scope = (parameter: string) => asText(valueAt(submitted, ownProperty(sources, parameter)));
        const items = visible(name, { asked, scope });
        const values: readonly unknown[] = Array.isArray(given) ? given : [given];
        if (values.every((one) => typeof one === 'string' && items.has(one))) continue;
        const at = field.slice(1).replaceAll('/', '.');
        throw new ApiProblem(400, `${at}: not in its catalog for this request, or no longer; choose another value`);
      }
    },
  };
}

function itemsOf(
  { name, file }: { name: string; file: string },
  { clock, log }: Pick<Parts, 'clock' | 'log'>,
): () => readonly CatalogItem[] {
  return followFile({
    file,
    clock,
    setting: `approvals.catalogs.${name}.file`,
    parse: (text) => readItems(text, file),
    onChange: (items) => log.info({ catalog: name, items: items.length }, 'a catalog was reloaded'),
    onFault: (err) =>
      log.error(
        { err, alarm: 'catalog_invalid', catalog: name },
        'a catalog cannot be read; its last version stays in force',
      ),
  });
}

/** Covers everything that decides the content of the pages, so that a cursor is valid for its own query only. */
function digestOf(name: string, { asked, parameter, search }: PageRequest, parameters: readonly string[]): string {
  const { subject, action, resource, template } = asked;
  const scope = parameters.map((one) => parameter(one) ?? null);
  return sha256(canonicalJson([name, scope, search ?? null, template ?? null, { subject, action, resource }] as Json));
}

async function openCursor(
  { cursor, client }: PageRequest,
  { pages, digest }: { pages: SealedPages; digest: string },
): Promise<string> {
  if (cursor === undefined) return '';
  const position = await pages.open(cursor, { requester: client, digest });
  if (position !== undefined) return position.after ?? '';
  throw new ApiProblem(400, 'cursor: does not belong to this query; start again without it');
}

function fits({ label, value }: CatalogItem, search: string | undefined): boolean {
  const wanted = search?.toLowerCase() ?? '';
  return label.toLowerCase().includes(wanted) || value.toLowerCase().includes(wanted);
}

/** The public members of an item. @see ARAP, Catalog Response (ARAP-CAT-11) */
const shown = ({ value, label, description, risk_level, owner }: CatalogItem) => ({
  value,
  label,
  ...(description !== undefined && { description }),
  ...(risk_level !== undefined && { risk_level }),
  ...(owner !== undefined && { owner }),
});

/** Field names contain no characters that a JSON pointer escapes. */
function valueAt(submitted: unknown, pointer: string | undefined): unknown {
  if (pointer === undefined) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .reduce<unknown>((of, name) => {
      return typeof of === 'object' && of !== null && Object.hasOwn(of, name)
        ? (of as Record<string, unknown>)[name]
        : undefined;
    }, submitted);
}

const asText = (value: unknown): string | undefined =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;

export const CATALOGS_PATH = '/catalogs/:name';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_PARAMETER = 1_024;
/** In characters. The sealed label and value of an item are shorter. */
const MAX_CURSOR = 4_096;

/**
 * A page of a catalog, for a client with a denial. `evaluation_id` names the denial, and the PDP's record of it says who asked for
 * what. Without it, the endpoint shows nothing. Throws an `ApiProblem`.
 * @see ARAP, Catalog Endpoint (ARAP-CAT-05, ARAP-CAT-08)
 */
export function catalogEndpoint({ catalogs, trust }: { catalogs: Catalogs; trust: DenialTrust }): RequestHandler {
  return async (request, response) => {
    const client = bearerHolderOf<AccessRequestClient>(response);
    const parameter = (name: string, most = MAX_PARAMETER) => parameterOf(request, name, most);
    const limit = limitOf(parameter('limit'));
    const asked = await deniedTo(client, parameter('evaluation_id'), trust);
    const page = { asked, client: client.actsFor, parameter, search: parameter('q'), limit };
    response.json(
      await catalogs.page(String(request.params['name']), { ...page, cursor: parameter('cursor', MAX_CURSOR) }),
    );
  };
}

/** Throws an `ApiProblem` for another client's denial, for one outside the client's scope, and for a missing one: none shows an item. */
async function deniedTo(
  { actsFor, covers }: AccessRequestClient,
  evaluationId: string | undefined,
  trust: DenialTrust,
): Promise<Denied> {
  if (evaluationId === undefined) {
    throw new ApiProblem(
      400,
      'evaluation_id: missing; use the endpoint exactly as the catalogs document of the denial gives it',
    );
  }
  const { requester, ...denied } = await recallDenial(evaluationId, trust);
  if (requester !== actsFor) throw new ApiProblem(403, 'the denial was given to another client');
  if (!covers(denied)) throw new ApiProblem(403, 'this client may not ask for this subject, action or resource');
  return denied;
}

function parameterOf({ query }: Request, name: string, most: number): string | undefined {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  // An empty parameter is a form field without a value yet.
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new ApiProblem(400, `${name}: given more than once`);
  if (value.length > most) throw new ApiProblem(400, `${name}: longer than ${most} characters`);
  return value;
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  if (!/^\d{1,9}$/.test(text)) throw new ApiProblem(400, 'limit: must be a whole number of items');
  return Math.min(Math.max(Number(text), 1), MAX_LIMIT);
}
