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
import { Problem } from '../access-requests/problem.ts';
import { type CatalogItem, type DeniedQuestion, type Look, placeOf, readItems, visibleItems } from './items.ts';

/** A question that was denied, as the PDP has signed it, and the template of the request that would cure it. */
interface Denied extends DeniedQuestion {
  readonly template: string | undefined;
}

/** One request for a page of a catalog. */
interface PageRequest {
  readonly asked: Denied;
  /** Who asks: page tokens are good for nobody else. */
  readonly client: string;
  /** Value of any parameter that came with it. */
  readonly parameter: (name: string) => string | undefined;
  /** Text that labels or values have to contain, upper and lower case alike. */
  readonly search: string | undefined;
  readonly cursor: string | undefined;
  /** Items at most. */
  readonly limit: number;
}

/** What of an item goes out. @see ARAP, Catalog Response (ARAP-CAT-11) */
type ShownItem = Pick<CatalogItem, 'value' | 'label' | 'description' | 'risk_level' | 'owner'>;

export interface Catalogs {
  /** A page of a catalog. Throws a `Problem`: for a catalog that there is not, or that the denied request has no field of (404); for a cursor that is none (400). */
  page(name: string, request: PageRequest): Promise<{ items: readonly ShownItem[]; next_cursor?: string }>;
  /** Holds what was submitted against the catalogs as they are now. Throws a `Problem` (400) that names the field, never its value. */
  check(submitted: object, asked: Denied): void;
}

interface Parts {
  readonly people: DirectorySource;
  readonly pages: SealedPages;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The catalogs of the configuration. Throws `ERR_CONFIG_INVALID` for a file that cannot be used. */
export function createCatalogs(settings: CatalogSettings, { people, pages, ...own }: Parts): Catalogs {
  const sources = new Map(Object.entries(settings).map(([name, { file }]) => [name, itemsOf({ name, file }, own)]));
  const fieldsOf = (template: string | undefined) =>
    Object.entries(settings).flatMap(([name, { fields }]) =>
      fields.filter((one) => one.template === template).map((one) => ({ name, ...one })),
    );
  const visible = (name: string, look: Look) => visibleItems(sources.get(name)?.() ?? [], look, people());
  return {
    async page(name, request) {
      const fields = fieldsOf(request.asked.template).filter((one) => one.name === name);
      // One answer for a catalog that there is not and for one that is no matter of this denial.
      if (fields.length === 0) throw new Problem(404, 'the denied request has no field of such a catalog');
      const parameters = [...new Set(fields.flatMap(({ scope }) => Object.keys(scope)))].sort();
      const digest = digestOf(name, request, parameters);
      const after = await openCursor(request, { pages, digest });
      const scope = (one: string) => (parameters.includes(one) ? request.parameter(one) : undefined);
      const found = [...visible(name, { asked: request.asked, scope }).values()]
        .filter((one) => fits(one, request.search) && placeOf(one) > after)
        .slice(0, request.limit + 1);
      const items = found.slice(0, request.limit);
      const last = items.at(-1);
      if (last === undefined || found.length === items.length) return { items: items.map(shown) };
      const cursor = await pages.seal({ after: placeOf(last) }, { requester: request.client, digest });
      return { items: items.map(shown), next_cursor: cursor };
    },

    check(submitted, asked) {
      for (const { name, field, scope: sources } of fieldsOf(asked.template)) {
        const given = valueAt(submitted, field);
        if (given === undefined) continue;
        const scope = (parameter: string) => asText(valueAt(submitted, ownProperty(sources, parameter)));
        const items = visible(name, { asked, scope });
        const values: readonly unknown[] = Array.isArray(given) ? given : [given];
        if (values.every((one) => typeof one === 'string' && items.has(one))) continue;
        const at = field.slice(1).replaceAll('/', '.');
        throw new Problem(400, `${at}: not a value, or not any more, of its catalog for this request; choose another`);
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
    onChange: (items) => log.info({ catalog: name, items: items.length }, 'a catalog was read anew'),
    onFault: (err) =>
      log.error(
        { err, alarm: 'catalog_invalid', catalog: name },
        'a catalog cannot be read; the one before stays in force',
      ),
  });
}

/** Names everything that decides what is on the pages, so that a cursor of one question is none of another. */
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
  throw new Problem(400, 'cursor: none of this question; begin again without it');
}

function fits({ label, value }: CatalogItem, search: string | undefined): boolean {
  const wanted = search?.toLowerCase() ?? '';
  return label.toLowerCase().includes(wanted) || value.toLowerCase().includes(wanted);
}

const shown = ({ value, label, description, risk_level, owner }: CatalogItem): ShownItem => ({
  value,
  label,
  ...(description !== undefined && { description }),
  ...(risk_level !== undefined && { risk_level }),
  ...(owner !== undefined && { owner }),
});

/** Names of fields need no escapes. */
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

/** Below the address of the service. */
export const CATALOGS_PATH = '/catalogs/:name';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_PARAMETER = 1_024;
/** Characters. A seal around two texts of an item is shorter. */
const MAX_CURSOR = 4_096;

/**
 * A page of a catalog, for a client that holds a denial: `evaluation_id` names it, and what the PDP has on record of it says who asked for what.
 * Without it nothing is shown. Throws `Problem`s.
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

/** Somebody else's denial, one of what the client may not have to do with, and none are answers without an item in them. */
async function deniedTo(
  { actsFor, covers }: AccessRequestClient,
  evaluationId: string | undefined,
  trust: DenialTrust,
): Promise<Denied> {
  if (evaluationId === undefined) {
    throw new Problem(400, 'evaluation_id: missing; use the endpoint as the catalogs document of the denial has it');
  }
  const { requester, ...denied } = await recallDenial(evaluationId, trust);
  if (requester !== actsFor) throw new Problem(403, 'the denial was given to another client');
  if (!covers(denied)) throw new Problem(403, 'this client may not ask for this subject, action or resource');
  return denied;
}

function parameterOf({ query }: Request, name: string, most: number): string | undefined {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  // An empty one is a field that has no value yet.
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new Problem(400, `${name}: there more than once`);
  if (value.length > most) throw new Problem(400, `${name}: longer than ${most} characters`);
  return value;
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  if (!/^\d{1,9}$/.test(text)) throw new Problem(400, 'limit: a whole number of items is needed');
  return Math.min(Math.max(Number(text), 1), MAX_LIMIT);
}
