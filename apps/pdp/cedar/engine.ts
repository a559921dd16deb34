import { statefulIsAuthorized, type EntityJson, type StatefulAuthorizationCall } from '@cedar-policy/cedar-wasm/nodejs';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { actionSchemas } from './action-schema.ts';
import { createDecisionCache, type CedarAnswer, type DecisionCache } from './decision-cache.ts';
import { candidatesOf, type Candidates } from './candidates.ts';
import { readEntities, type OwnEntities } from './entities.ts';
import { entityId } from './entity-id.ts';
import { readObligationFiles, type ObligationDefinitions } from './obligation-files.ts';
import { readPolicies, type Policies, type Policy } from './policies.ts';
import type { PolicyFiles } from './policy-files.ts';
import type { Problem } from './problems.ts';
import { ConversionError } from './projection.ts';
import { ACTION_MEMBER, APPROVAL_MEMBER, readSchema, type ActionShape, type SchemaShape } from './schema.ts';
import { slicesOf, type Slice } from './slices.ts';
import { toEntity, unique } from './request-entities.ts';
import { takeSlot, type Slot } from './slot.ts';
import { atOnce, stepByStep, type Steps } from './steps.ts';
import { validatePolicies } from './validate.ts';
import { keepWasmCallsOutOfLine } from './wasm-calls.ts';

/** Facts about an approval that the host has verified, or assumes in a what-if. */
export interface ApprovalFacts {
  readonly verified: true;
  readonly template: string;
}

/** A request in Cedar's terms, ready to be evaluated more than once. */
export type Prepared =
  | {
      readonly kind: 'ready';
      readonly action: ActionShape;
      readonly call: Omit<StatefulAuthorizationCall, 'preparsedPolicySetId'>;
      /** Names of the sets that have every policy which could match. */
      readonly sets: readonly string[];
      /** The action and both entities as Cedar is told of them. With the context this is the whole request. */
      readonly cacheKey: string;
    }
  /** No schema declares the action: no policy can be about it. */
  | { readonly kind: 'unknown_action' }
  | { readonly kind: 'failed'; readonly cause: string };

/** Cedar with one set of policies, parsed once. Every answer is computed from this process's memory alone. */
export interface Engine {
  readonly policies: Policies;
  readonly obligations: ObligationDefinitions;
  readonly candidates: Candidates;
  /** What authors should know and that does not stop the start. */
  readonly warnings: readonly Problem[];
  prepare(request: EvaluationRequest): Prepared;
  evaluate(prepared: Extract<Prepared, { kind: 'ready' }>, approval?: ApprovalFacts): CedarAnswer;
  /** Context members that policies may look at for this action; empty for an unknown one. */
  contextOf(action: string): ReadonlySet<string>;
  /** Policies whose scope includes this action. */
  policiesFor(action: Pick<ActionShape, 'name'>): readonly Policy[];
  /** Frees Cedar's memory for another engine: this one may not be asked any more. May be called once. */
  release(): void;
}

/** What an engine is made of: a policy folder, and the people that the deployment's directory knows. */
export type EngineFiles = Omit<PolicyFiles, 'requestSchemas' | 'obligations'> &
  Partial<Pick<PolicyFiles, 'obligations'>> & { readonly directory?: Directory | undefined };

/** Parses, validates and indexes everything. Throws `InvalidPolicies` with the places of the mistakes. */
export function createEngine(files: EngineFiles): Engine {
  return atOnce(buildEngine(files));
}

/** The same, in steps between which the process can answer requests. */
export async function createEngineMeanwhile(files: EngineFiles): Promise<Engine> {
  return await stepByStep(buildEngine(files));
}

interface Loaded {
  readonly shape: SchemaShape;
  readonly entities: OwnEntities;
  readonly slices: ReadonlyMap<string, Slice>;
}

function* buildEngine(files: EngineFiles): Steps<Engine> {
  keepWasmCallsOutOfLine();
  const shape = readSchema(files.schema);
  const { policies, warnings } = yield* readPolicies(files.policies);
  const obligations = readObligationFiles(files.obligations ?? [], policies);
  const entities = yield* readEntities(
    { text: files.entities, directory: files.directory },
    { text: files.schema, shape },
  );
  const schemaOf = actionSchemas(files.schema);
  yield;
  const { actions } = shape;
  const cedarWarnings = yield* validatePolicies(policies, { text: files.schema, actions, schemaOf });
  const slot = takeSlot();
  try {
    const slices = yield* slicesOf(actions.values(), policies, { slot, schemaOf, entities });
    const loaded = { shape, entities, slices };
    return assemble({ policies, obligations, warnings: [...warnings, ...cedarWarnings], loaded, slot });
  } catch (error) {
    slot.release();
    throw error;
  }
}

interface Parts extends Pick<Engine, 'policies' | 'obligations' | 'warnings'> {
  readonly loaded: Loaded;
  readonly slot: Slot;
}

function assemble({ policies, obligations, warnings, loaded, slot }: Parts): Engine {
  const noContext: ReadonlySet<string> = new Set();
  const cache = createDecisionCache();
  return {
    policies,
    obligations,
    candidates: candidatesOf(loaded.entities.uids, loaded.shape.actions.keys()),
    warnings,
    prepare: (request) => prepare(request, loaded),
    evaluate: (prepared, approval) =>
      evaluate(prepared, { cache, approval: prepared.action.context.has(APPROVAL_MEMBER) ? approval : undefined }),
    contextOf: (action) => loaded.shape.actions.get(action)?.context ?? noContext,
    policiesFor: (action) => loaded.slices.get(action.name)?.policies ?? [],
    release: () => slot.release(),
  };
}

function prepare(request: EvaluationRequest, { shape, entities, slices }: Loaded): Prepared {
  const action = shape.actions.get(request.action.name);
  const slice = slices.get(request.action.name);
  if (!action || !slice) return { kind: 'unknown_action' };
  try {
    const principal = { type: 'Subject', id: entityId(request.subject) };
    const resource = { type: 'Resource', id: entityId(request.resource) };
    const named = {
      principal: toEntity(principal, request.subject, { shape: shape.subject, entities, path: 'subject' }),
      resource: toEntity(resource, request.resource, { shape: shape.resource, entities, path: 'resource' }),
    };
    const call: Extract<Prepared, { kind: 'ready' }>['call'] = {
      principal,
      action: { type: 'Action', id: action.name },
      resource,
      context: action.projectContext(
        { ...request.context, [ACTION_MEMBER]: request.action.properties },
        'context',
      ) as StatefulAuthorizationCall['context'],
      entities: unique([...[named.principal, named.resource], ...entities.from([principal, resource]), ...slice.named]),
      preparsedSchemaName: slice.schemaName,
    };
    const sets = slice.setsFor(principal.id, resource.id);
    const cacheKey = JSON.stringify([action.name, named]);
    return { kind: 'ready', action, call, sets, cacheKey };
  } catch (error) {
    if (error instanceof ConversionError) return { kind: 'failed', cause: error.message };
    throw error;
  }
}

/**
 * Asks every set and joins the answers as Cedar would for one set of all: a forbid beats every permit. Each is asked, since a
 * policy that errors in any of them makes the answer worthless.
 */
function evaluate(
  { call, sets, cacheKey }: Extract<Prepared, { kind: 'ready' }>,
  { cache, approval }: { cache: DecisionCache; approval: ApprovalFacts | undefined },
): CedarAnswer {
  const context = approval ? { ...call.context, [APPROVAL_MEMBER]: { ...approval } } : call.context;
  return cache.get(cacheKey + JSON.stringify(context), () => askCedar({ ...call, context }, sets));
}

function askCedar(
  call: Omit<StatefulAuthorizationCall, 'preparsedPolicySetId'>,
  sets: readonly string[],
): CedarAnswer {
  const answers = sets.map((set, index) =>
    evaluateSet({ ...call, preparsedPolicySetId: set, validateRequest: index === 0 }),
  );
  const failed = answers.find(({ kind }) => kind === 'failed');
  if (failed) return failed;
  const denying = determining(answers, 'deny');
  if (denying.length > 0) return { kind: 'deny', policies: denying };
  const permitting = determining(answers, 'allow');
  return { kind: permitting.length > 0 ? 'allow' : 'deny', policies: permitting };
}

function determining(answers: readonly CedarAnswer[], kind: 'allow' | 'deny'): string[] {
  return answers.flatMap((answer) => (answer.kind === kind ? answer.policies : [])).sort();
}

function evaluateSet(call: StatefulAuthorizationCall): CedarAnswer {
  try {
    const answer = statefulIsAuthorized(call);
    // Cedar's messages may quote values of the request, so only their codes and policies are passed on.
    if (answer.type === 'failure') return { kind: 'failed', cause: 'the request does not fit the schema' };
    const { decision, diagnostics } = answer.response;
    if (diagnostics.errors.length > 0) {
      const ids = diagnostics.errors.map((error) => error.policyId).sort();
      return { kind: 'failed', cause: `policies could not be evaluated: ${ids.join(', ')}` };
    }
    return { kind: decision, policies: diagnostics.reason };
  } catch {
    return { kind: 'failed', cause: 'the policy engine threw' };
  }
}
