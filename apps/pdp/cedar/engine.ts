import { randomUUID } from 'node:crypto';
import {
  preparsePolicySet,
  preparseSchema,
  statefulIsAuthorized,
  validate,
  type CheckParseAnswer,
  type EntityJson,
  type StatefulAuthorizationCall,
  type TypeAndId,
} from '@cedar-policy/cedar-wasm/nodejs';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { readEntities, type OwnEntities } from './entities.ts';
import { entityId } from './entity-id.ts';
import { describeErrors, readPolicies, type Policies, type Policy } from './policies.ts';
import type { PolicyFiles } from './policy-files.ts';
import { ConversionError } from './projection.ts';
import {
  ACTION_MEMBER,
  APPROVAL_MEMBER,
  readSchema,
  type ActionShape,
  type EntityShape,
  type SchemaShape,
} from './schema.ts';
import { keepWasmCallsOutOfLine } from './wasm-calls.ts';

/** Facts about an approval that the host has verified, or assumes in a what-if. */
export interface ApprovalFacts {
  readonly verified: true;
  readonly template: string;
}

/** A request in Cedar's terms, ready to be evaluated more than once. */
export type Prepared =
  | { readonly kind: 'ready'; readonly action: ActionShape; readonly call: StatefulAuthorizationCall }
  /** No schema declares the action: no policy can be about it. */
  | { readonly kind: 'unknown_action' }
  | { readonly kind: 'failed'; readonly cause: string };

export type EngineAnswer =
  /** `policies` are the ids of the determining policies, sorted. */
  | { readonly kind: 'allow' | 'deny'; readonly policies: readonly string[] }
  /** Something could not be evaluated. Cedar skips a policy that errors, and a skipped forbid permits: so this is a denial. */
  | { readonly kind: 'failed'; readonly cause: string };

/** Cedar with one set of policies, parsed once. Every answer is computed from this process's memory alone. */
export interface Engine {
  readonly policies: Policies;
  /** What authors should know and that does not stop the start: Cedar's warnings about the policies. */
  readonly warnings: readonly string[];
  prepare(request: EvaluationRequest): Prepared;
  evaluate(prepared: Extract<Prepared, { kind: 'ready' }>, approval?: ApprovalFacts): EngineAnswer;
  /** Context members that policies may look at for this action; empty for an unknown one. */
  contextOf(action: string): ReadonlySet<string>;
  /** Policies whose scope includes this action. */
  policiesFor(action: ActionShape): readonly Policy[];
}

/** Parses, validates and indexes everything. Throws `ERR_CONFIG_INVALID` with the place of the mistake. */
export function createEngine(files: Omit<PolicyFiles, 'requestSchemas'>): Engine {
  keepWasmCallsOutOfLine();
  const shape = readSchema(files.schema);
  const policies = readPolicies(files.policies);
  const entities = readEntities(files.entities, { text: files.schema, shape });
  const warnings = validatePolicies(policies, files.schema);

  // Cedar keeps parsed sets under names that belong to the whole process, hence one that is ours alone.
  const name = randomUUID();
  mustParse(preparseSchema(name, files.schema));
  // Evaluation time grows with the number of policies, so each action has the set of those that can match it.
  const slices = new Map([...shape.actions.values()].map((action) => [action.name, sliceFor(action, policies)]));
  for (const [action, slice] of slices) {
    const staticPolicies = Object.fromEntries(slice.map((policy) => [policy.id, policy.text]));
    mustParse(preparsePolicySet(`${name} ${action}`, { staticPolicies }));
  }
  const noContext: ReadonlySet<string> = new Set();
  return {
    policies,
    warnings,
    prepare: (request) => prepare(request, { name, shape, entities }),
    evaluate: ({ action, call }, approval) =>
      evaluate(call, action.context.has(APPROVAL_MEMBER) ? approval : undefined),
    contextOf: (action) => shape.actions.get(action)?.context ?? noContext,
    policiesFor: (action) => slices.get(action.name) ?? [],
  };
}

function sliceFor(action: ActionShape, policies: Policies): readonly Policy[] {
  return [...policies.values()].filter((policy) => policy.actions?.some((name) => action.groups.has(name)) ?? true);
}

interface Loaded {
  readonly name: string;
  readonly shape: SchemaShape;
  readonly entities: OwnEntities;
}

function prepare(request: EvaluationRequest, { name, shape, entities }: Loaded): Prepared {
  const action = shape.actions.get(request.action.name);
  if (!action) return { kind: 'unknown_action' };
  try {
    const principal = { type: 'Subject', id: entityId(request.subject) };
    const resource = { type: 'Resource', id: entityId(request.resource) };
    const named = [
      toEntity(principal, request.subject, { shape: shape.subject, entities, path: 'subject' }),
      toEntity(resource, request.resource, { shape: shape.resource, entities, path: 'resource' }),
    ];
    const call: StatefulAuthorizationCall = {
      principal,
      action: { type: 'Action', id: action.name },
      resource,
      context: action.projectContext(
        { ...request.context, [ACTION_MEMBER]: request.action.properties },
        'context',
      ) as StatefulAuthorizationCall['context'],
      entities: unique([...named, ...entities.around(principal), ...entities.around(resource)]),
      preparsedPolicySetId: `${name} ${action.name}`,
      preparsedSchemaName: name,
      validateRequest: true,
    };
    return { kind: 'ready', action, call };
  } catch (error) {
    if (error instanceof ConversionError) return { kind: 'failed', cause: error.message };
    throw error;
  }
}

/** What the request says about an entity, under what the PDP itself knows about it. */
function toEntity(
  uid: TypeAndId,
  said: { type: string; id: string; properties?: unknown },
  known: { shape: EntityShape; entities: OwnEntities; path: string },
): EntityJson {
  const { attributes, projectProperties } = known.shape;
  const own = known.entities.about(uid);
  const attrs: EntityJson['attrs'] = { ...own.attrs };
  if (attributes.has('type')) attrs['type'] = said.type;
  if (attributes.has('id')) attrs['id'] = said.id;
  if (projectProperties) attrs['properties'] = projectProperties(said.properties ?? {}, `${known.path}.properties`);
  return { uid, attrs, parents: [...own.parents] };
}

/** Cedar refuses an entity that is there twice; the first, which the request is about, is the fullest. */
function unique(entities: readonly EntityJson[]): EntityJson[] {
  const byUid = new Map<string, EntityJson>();
  for (const entity of entities) {
    const { type, id } = entity.uid as TypeAndId;
    const key = `${type}::${id}`;
    if (!byUid.has(key)) byUid.set(key, entity);
  }
  return [...byUid.values()];
}

function evaluate(call: StatefulAuthorizationCall, approval: ApprovalFacts | undefined): EngineAnswer {
  const context = approval ? { ...call.context, [APPROVAL_MEMBER]: { ...approval } } : call.context;
  try {
    const answer = statefulIsAuthorized({ ...call, context });
    // Cedar's messages may quote values of the request, so only their codes and policies are passed on.
    if (answer.type === 'failure') return { kind: 'failed', cause: 'the request does not fit the schema' };
    const { decision, diagnostics } = answer.response;
    if (diagnostics.errors.length > 0) {
      const ids = diagnostics.errors.map((error) => error.policyId).sort();
      return { kind: 'failed', cause: `policies could not be evaluated: ${ids.join(', ')}` };
    }
    return { kind: decision, policies: [...diagnostics.reason].sort() };
  } catch {
    return { kind: 'failed', cause: 'the policy engine threw' };
  }
}

function validatePolicies(policies: Policies, schema: string): string[] {
  const staticPolicies = Object.fromEntries([...policies.values()].map((policy) => [policy.id, policy.text]));
  const answer = validate({ schema, policies: { staticPolicies }, validationSettings: { mode: 'strict' } });
  if (answer.type === 'failure') throw invalid(describeErrors(answer.errors, ''));
  const lines = (found: typeof answer.validationErrors) =>
    found.map(({ policyId, error }) => `${policyId}: ${error.message}${error.help ? ` (${error.help})` : ''}`);
  if (answer.validationErrors.length > 0) throw invalid(lines(answer.validationErrors).join('; '));
  return lines(answer.validationWarnings);
}

function mustParse(answer: CheckParseAnswer): void {
  if (answer.type === 'failure') throw invalid(describeErrors(answer.errors, ''));
}

function invalid(message: string): CountersignError {
  return new CountersignError('ERR_CONFIG_INVALID', `The policies do not fit the schema: ${message}`);
}
