import { createHash } from 'node:crypto';
import type { Json } from '../../workflows/domain/canonical-json.ts';
import { requestForm } from '../../workflows/domain/submission-input/request-form.ts';
import type { Policies } from './cedar/policies.ts';
import type { PolicyFiles } from './cedar/policy-files.ts';
import { InvalidPolicies } from './cedar/problems.ts';

/** Where schemas are below the PDP's address. */
export const REQUEST_SCHEMAS_PATH = '/access/v1/request-schemas';

/** What access requests have to be given beside the call, by template. @see ARAP-FRM-02 */
export interface RequestSchemas {
  /** Path of the schema below the PDP's address; undefined when requests of this template need nothing more. */
  pathFor(template: string): string | undefined;
  /** The schema's text by the last part of its path. */
  find(name: string): string | undefined;
  /** The schema's text by its template. */
  textFor(template: string): string | undefined;
  /** All of them, by name. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * The schemas of a policy folder. Each is named by its content: what somebody keeps under an address never changes. Throws
 * `InvalidPolicies` for one that belongs to no policy, or that no requester could be asked for.
 */
export function readRequestSchemas(files: PolicyFiles['requestSchemas'], policies: Policies): RequestSchemas {
  const templates = new Set([...policies.values()].map(({ template }) => template));
  const byName = new Map<string, string>();
  const names = new Map<string, string>();
  for (const { file, template, text } of files) {
    if (!templates.has(template)) throw invalid(file, `no policy is @requestable("${template}"). Rename or remove it.`);
    const form = requestForm(parse(file, text));
    if ('problem' in form) throw invalid(file, `it cannot be shown as a form: ${form.problem}.`);
    const name = `${createHash('sha256').update(text).digest('hex')}.json`;
    byName.set(name, text);
    names.set(template, name);
  }
  return {
    pathFor(template) {
      const name = names.get(template);
      return name === undefined ? undefined : `${REQUEST_SCHEMAS_PATH}/${name}`;
    },
    find: (name) => byName.get(name),
    textFor: (template) => byName.get(names.get(template) ?? ''),
    texts: byName,
  };
}

/** Addresses of the schemas for templates, at this PDP. */
export const schemaUrls =
  (schemas: Pick<RequestSchemas, 'pathFor'>, pdpUrl: string) =>
  (template: string): string | undefined => {
    const path = schemas.pathFor(template);
    return path === undefined ? undefined : pdpUrl.replace(/\/+$/, '') + path;
  };

function parse(file: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw invalid(file, 'it is no JSON.');
  }
}

function invalid(file: string, message: string): InvalidPolicies {
  return new InvalidPolicies([{ file, message }]);
}
