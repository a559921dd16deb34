import { catalogueProblem } from '../../workflows/domain/submission-input/catalogs.ts';
import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { CatalogSettings } from '../shared/config/catalog-settings.ts';
import { InvalidPolicies } from './cedar/problems.ts';
import type { RequestSchemas } from './request-schemas.ts';

/** Where Catalogs Documents are below the PDP's address. */
export const REQUEST_CATALOGS_PATH = '/access/v1/request-catalogs';

/** Ids of evaluations have no other characters. */
const EVALUATION_ID = /^[\w-]{1,64}$/;

/** What of access requests is chosen from catalogs, by template. Documents are made of the configuration, and kept nowhere. */
export interface RequestCatalogs {
  /** Address of the document for the denial of an evaluation; undefined when nothing in requests of this template is chosen. */
  urlFor(template: string, evaluationId: string): string | undefined;
  /** The document itself; undefined when there is none. It shows what is configured, and nothing of a denial. @see ARAP, Catalogs Document */
  find(template: string, evaluationId: string): JsonObject | undefined;
}

export interface CatalogAddresses {
  /** Of the PDP. */
  readonly pdp: string;
  /** Where access requests are submitted: the catalogs are beside it, on its origin and behind its credentials (ARAP-CAT-06). */
  readonly accessRequests: string;
}

/** The catalogs that the access request service has by the same configuration. */
export function requestCatalogs(settings: CatalogSettings, { pdp, accessRequests }: CatalogAddresses): RequestCatalogs {
  const templates = templatesOf(settings);
  const base = `${pdp.replace(/\/+$/, '')}${REQUEST_CATALOGS_PATH}`;
  return {
    urlFor: (template, evaluationId) =>
      templates.has(template) ? `${base}/${encodeURIComponent(template)}/${evaluationId}` : undefined,
    find(template, evaluationId) {
      if (!templates.has(template) || !EVALUATION_ID.test(evaluationId)) return undefined;
      return documentOf(settings, template, (name) => {
        const endpoint = new URL(`catalogs/${name}`, accessRequests);
        // What an enforcement point proves with, without having to know of it, that the denial is its own.
        endpoint.searchParams.set('evaluation_id', evaluationId);
        return endpoint.href;
      });
    },
  };
}

/** Those in whose requests something is chosen. */
const templatesOf = (settings: CatalogSettings): ReadonlySet<string> =>
  new Set(Object.values(settings).flatMap(({ fields }) => fields.map(({ template }) => template)));

function documentOf(
  settings: CatalogSettings,
  template: string,
  endpointOf: (name: string) => string,
): { readonly fields: JsonObject } {
  const references = Object.entries(settings).flatMap(([name, { fields }]) =>
    fields
      .filter((one) => one.template === template)
      .map(({ field, scope }): [string, Json] => [field, { endpoint: endpointOf(name), scope_params: scope }]),
  );
  return { fields: Object.fromEntries(references) };
}

/**
 * Throws `InvalidPolicies` where a template's schema and the catalogs of its fields do not fit together, so that no denial names catalogs
 * without a schema, or any that nobody could choose from.
 * @see ARAP-DEN-17
 */
export function checkRequestCatalogs(settings: CatalogSettings, schemas: Pick<RequestSchemas, 'textFor'>): void {
  const templates = templatesOf(settings);
  const problems = [...templates].flatMap((template) => {
    const file = `${template}.request.json`;
    const text = schemas.textFor(template);
    if (text === undefined) {
      return [{ file, message: 'it is missing, though approvals.catalogs has fields of it. Add it, or remove these.' }];
    }
    const document = documentOf(settings, template, () => 'https://catalogs.invalid');
    const problem = catalogueProblem(document, JSON.parse(text) as Json);
    if (problem === undefined) return [];
    return [{ file, message: `it does not fit what approvals.catalogs says of it: ${problem}.` }];
  });
  if (problems.length > 0) throw new InvalidPolicies(problems);
}
