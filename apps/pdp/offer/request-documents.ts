import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { catalogueProblem } from '../../../workflows/domain/submission-input/catalogs.ts';
import { requestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import type { CatalogSettings } from '../../shared/config/approval-settings.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { Policies } from '../engine/cedar/policies.ts';
import type { PolicyFiles } from '../engine/cedar/policy-folder.ts';
import { InvalidPolicies } from '../engine/cedar/problems.ts';

/** Where schemas are below the PDP's address. */
export const REQUEST_SCHEMAS_PATH = '/access/v1/request-schemas';
/** Where Catalogs Documents are below the PDP's address. */
export const REQUEST_CATALOGS_PATH = '/access/v1/request-catalogs';

/** What access requests need beside the call, by template. @see ARAP-FRM-02 */
export type RequestSchemas = ReturnType<typeof readRequestSchemas>;

/**
 * The schemas of a policy folder. Each is named by its content, so that what is at an address never changes. Throws
 * `InvalidPolicies` for a schema that no policy uses, or that cannot be shown to a requester as a form.
 */
export function readRequestSchemas(files: PolicyFiles['requestSchemas'], policies: Policies) {
  const templates = new Set([...policies.values()].map(({ template }) => template));
  const byName = new Map<string, string>();
  const names = new Map<string, string>();
  for (const { file, template, text } of files) {
    if (!templates.has(template)) throw invalid(file, `no policy is @requestable("${template}"). Rename or remove it.`);
    const form = requestForm(parse(file, text));
    if ('problem' in form) throw invalid(file, `it cannot be shown as a form: ${form.problem}.`);
    const name = `${sha256(text)}.json`;
    byName.set(name, text);
    names.set(template, name);
  }
  return {
    /** Path of the schema below the PDP's address. Undefined if requests of this template need nothing more. */
    pathFor(template: string): string | undefined {
      const name = names.get(template);
      return name === undefined ? undefined : `${REQUEST_SCHEMAS_PATH}/${name}`;
    },
    /** The schema's text by the last part of its path. */
    find: (name: string) => byName.get(name),
    /** The schema's text by its template. */
    textFor: (template: string) => byName.get(names.get(template) ?? ''),
    /** All texts by the last part of the path. */
    texts: byName as ReadonlyMap<string, string>,
  };
}

function parse(file: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw invalid(file, 'it is not JSON.');
  }
}

function invalid(file: string, message: string): InvalidPolicies {
  return new InvalidPolicies([{ file, message }]);
}

/** Ids of evaluations have no other characters. */
const EVALUATION_ID = /^[\w-]{1,64}$/;

export type RequestCatalogs = ReturnType<typeof requestCatalogs>;

/**
 * Which values of access requests are chosen from catalogs, by template. The access request service has the same catalogs, by the
 * same configuration. They are beside `accessRequests`: on the same origin, behind the same credentials (ARAP-CAT-06).
 */
export function requestCatalogs(
  settings: CatalogSettings,
  { pdp, accessRequests }: { readonly pdp: string; readonly accessRequests: string },
) {
  const templates = templatesOf(settings);
  const base = `${pdp.replace(/\/+$/, '')}${REQUEST_CATALOGS_PATH}`;
  return {
    /** Address of the document for the denial of an evaluation. Undefined if requests of this template choose no value. */
    urlFor: (template: string, evaluationId: string) =>
      templates.has(template) ? `${base}/${encodeURIComponent(template)}/${evaluationId}` : undefined,
    /** The document itself, if there is one. It shows what is configured, and nothing about a denial. @see ARAP, Catalogs Document */
    find(template: string, evaluationId: string): JsonObject | undefined {
      if (!templates.has(template) || !EVALUATION_ID.test(evaluationId)) return undefined;
      return documentOf(settings, template, (name) => {
        const endpoint = new URL(`catalogs/${name}`, accessRequests);
        // Proves that the denial is the enforcement point's own, which does not have to know this parameter.
        endpoint.searchParams.set('evaluation_id', evaluationId);
        return endpoint.href;
      });
    },
  };
}

/** Templates whose requests choose a value from a catalog. */
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
 * Checks that a template's schema fits the catalogs of its fields. So every denial that names catalogs has a schema, and each
 * catalog can be chosen from. Throws `InvalidPolicies`.
 * @see ARAP-DEN-17
 */
export function checkRequestCatalogs(settings: CatalogSettings, schemas: Pick<RequestSchemas, 'textFor'>): void {
  const problems = [...templatesOf(settings)].flatMap((template) => {
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
