import { CountersignError } from '../../../../workflows/domain/errors.ts';
import type { Clock } from '../../../shared/clock.ts';
import { type Directory, type DirectorySettings, readDirectory } from '../../../shared/directory/directory.ts';
import { type Rule, ruleIndex, templatesOf } from '../../../shared/rules/rules.ts';
import { checkRequestCatalogs, readRequestSchemas, type RequestSchemas } from '../../offer/request-documents.ts';
import { answerByPolicy, isPermitted } from '../../offer/requestable.ts';
import type { PolicyVersion } from '../policy-engine.ts';
import { createEvaluator, type Evaluator } from './evaluator.ts';
import type { Policies } from './policies.ts';
import { readPolicyTexts, type PolicyPlaces, type PolicyTexts } from './policy-folder.ts';
import { InvalidPolicies, type PolicyProblem } from './problems.ts';

/** Policies, schema, entities, request schemas, obligations and directory, loaded together and never mixed with another version. */
export type CedarVersion = Awaited<ReturnType<typeof loadVersion>>;

/** Checks and loads these texts, in steps between which the process can answer requests. Throws `InvalidPolicies`. */
export async function loadVersion(
  { id, files, directory: people }: PolicyTexts,
  { directory: { subjectAttribute }, catalogs = {}, templates = [], rules }: PolicyPlaces,
  clock?: Pick<Clock, 'now'>,
) {
  const directory = people && parseDirectory(people, subjectAttribute);
  const evaluator = await createEvaluator({ ...files, directory }, clock);
  try {
    refuseSharedTemplates(evaluator.policies, rules?.all ?? []);
    const requestSchemas = readRequestSchemas(files.requestSchemas, evaluator.policies);
    checkRequestCatalogs(catalogs, requestSchemas);
    return {
      ...policyVersion(id, evaluator, requestSchemas),
      isListed: (template: string) => templates.includes(template),
      templates,
      evaluator,
      requestSchemas,
      /** How many people the directory knows. */
      people: directory?.people.length ?? 0,
    };
  } catch (error) {
    evaluator.release();
    throw error;
  }
}

/** Reads and loads what is written at these places now. Throws `ERR_CONFIG_INVALID`. */
export async function loadCurrent(places: PolicyPlaces, clock?: Pick<Clock, 'now'>): Promise<CedarVersion> {
  return await loadVersion(await readPolicyTexts(places), places, clock);
}

/** What the host sees of a version. */
export function policyVersion(
  id: string,
  evaluator: Evaluator,
  requestSchemas: Pick<RequestSchemas, 'pathFor'>,
): Required<Omit<PolicyVersion, 'isListed'>> {
  return {
    id,
    answer: (request, approval, at) => answerByPolicy(evaluator, request, approval?.facts, at),
    contextOf: (action) => evaluator.contextOf(action),
    requestSchemaPath: (template) => requestSchemas.pathFor(template),
    searchable: { candidates: evaluator.candidates, permits: (request) => isPermitted(evaluator, request) },
  };
}

/** What is wrong with a version that could not be loaded. Undefined for an error of another kind. */
export function problemsOf(error: unknown, { folder }: PolicyPlaces): readonly PolicyProblem[] | undefined {
  if (error instanceof InvalidPolicies) return error.problems;
  return error instanceof CountersignError ? [{ file: folder, message: error.message }] : undefined;
}

/** The approvers of a rule decide about what it asks for, and about nothing else. Throws `InvalidPolicies`. */
function refuseSharedTemplates(policies: Policies, rules: readonly Rule[]): void {
  const own = templatesOf(rules);
  const problems = [...policies.values()].flatMap(({ id, file, line, column, template }) => {
    if (template === undefined || ruleIndex(file) !== undefined || !Object.hasOwn(own, template)) return [];
    const message = `"${id}" asks for an approval of "${template}", which is the name of a rule with approvers of its own. Rename one of them.`;
    return [{ file, line, column, message }];
  });
  if (problems.length > 0) throw new InvalidPolicies(problems);
}

function parseDirectory(
  { file, text }: NonNullable<PolicyTexts['directory']>,
  attribute: DirectorySettings['subjectAttribute'],
): Directory {
  try {
    return readDirectory(text, attribute);
  } catch (cause) {
    if (!(cause instanceof CountersignError)) throw cause;
    throw new InvalidPolicies([{ file, message: cause.message }], cause);
  }
}
