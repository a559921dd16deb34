import { setFlagsFromString } from 'node:v8';
import {
  statefulIsAuthorized,
  type EntityJson,
  type StatefulAuthorizationCall,
  type TypeAndId,
} from '@cedar-policy/cedar-wasm/nodejs';
import { LRUCache } from 'lru-cache';
import type { EvaluationRequest } from '../../../../workflows/domain/authzen/evaluation.ts';
import { systemClock, type Clock } from '../../../shared/clock.ts';
import type { Directory } from '../../../shared/directory/directory.ts';
import { readObligations } from '../../obligations.ts';
import type { ApprovalFacts } from '../policy-engine.ts';
import { candidatesOf, entityId, readEntities, type OwnEntities } from './entities.ts';
import { approvedBy, callOf, HOST_MEMBERS, timeOf, valuesOf } from './facts.ts';
import { readPolicies, type Policy } from './policies.ts';
import type { PolicyFiles } from './policy-folder.ts';
import {
  ACTION_MEMBER,
  APPROVAL_MEMBER,
  ConversionError,
  readSchema,
  type ActionShape,
  type EntityShape,
  type SchemaShape,
} from './schema.ts';
import { slicesOf, takeSlot, type Slice } from './slices.ts';
import { validatePolicies } from './validate.ts';

/** A request in Cedar's terms, which can be evaluated more than once. */
export interface Ready {
  readonly kind: 'ready';
  readonly action: ActionShape;
  readonly call: Omit<StatefulAuthorizationCall, 'preparsedPolicySetId'>;
  /** Names of the sets that together have every policy which could match. */
  readonly sets: readonly string[];
  /** The action and both entities as Cedar gets them. With the context this is the whole request. */
  readonly cacheKey: string;
}

export type Prepared =
  | Ready
  /** The schema does not declare the action, so no policy can be about it. */
  | { readonly kind: 'unknown_action' }
  | { readonly kind: 'failed'; readonly cause: string };

/** Cedar's answer to one request. */
export type CedarAnswer =
  /** `policies` are the ids of the determining policies, sorted. */
  | { readonly kind: 'allow' | 'deny'; readonly policies: readonly string[] }
  /** Cedar could not evaluate something. It skips a policy that errors, and skipping a forbid permits. So this is a denial. */
  | { readonly kind: 'failed'; readonly cause: string };

/** Cedar with one version of the policies, parsed once. Every answer comes from this process's memory alone. */
export type Evaluator = Awaited<ReturnType<typeof createEvaluator>>;

/** What an evaluator is made of: a policy folder, and the people that the deployment's directory knows. */
export type EvaluatorFiles = Omit<PolicyFiles, 'requestSchemas' | 'obligations'> &
  Partial<Pick<PolicyFiles, 'obligations'>> & { readonly directory?: Directory | undefined };

/**
 * Parses, validates and indexes everything, in steps of a few milliseconds between which the process can answer requests. Throws
 * `InvalidPolicies` with the places of the mistakes.
 */
export async function createEvaluator(files: EvaluatorFiles, clock: Pick<Clock, 'now'> = systemClock) {
  // Keeps V8 from inlining calls into WebAssembly, for the whole process. Node 20 aborts with "unreachable code" when it discards an
  // optimized function while an inlined WebAssembly call runs in it and returns an object, as Cedar's calls do. The flag has to be
  // set before such functions get hot. Nothing else can catch this.
  setFlagsFromString('--no-turbo-inline-js-wasm-calls');
  const shape = readSchema(files.schema);
  const { policies, warnings } = await readPolicies(files.policies);
  const obligations = readObligations(files.obligations ?? [], policies);
  const ownData = { text: files.entities, directory: files.directory };
  const entities = await readEntities(ownData, { text: files.schema, shape });
  const { actions, schemaOf } = shape;
  const cedarWarnings = await validatePolicies(policies, { text: files.schema, actions, schemaOf });
  const slot = takeSlot();
  try {
    const slices = await slicesOf(actions.values(), policies, { slot, schemaOf, entities });
    return {
      policies,
      obligations,
      candidates: candidatesOf(entities.uids, actions.keys()),
      /** What authors should know, but does not keep the policies from being used. */
      warnings: [...warnings, ...cedarWarnings],
      /** @param at When the request is decided, in milliseconds since 1970. Default: now. */
      prepare: (request: EvaluationRequest, at = clock.now()): Prepared =>
        prepare(request, { shape, entities, slices, at }),
      evaluate: evaluatorWithCache(),
      /** Context members that policies may look at for this action. Empty for an unknown action. */
      contextOf: (action: string): ReadonlySet<string> => actions.get(action)?.context ?? new Set(),
      /** Policies whose scope includes this action. */
      policiesFor: (action: Pick<ActionShape, 'name'>): readonly Policy[] => slices.get(action.name)?.policies ?? [],
      /** Lets another evaluator use Cedar's memory: this one may not be used any more. May be called once. */
      release: () => slot.release(),
    };
  } catch (error) {
    slot.release();
    throw error;
  }
}

interface Loaded {
  readonly at: number;
  readonly shape: SchemaShape;
  readonly entities: OwnEntities;
  readonly slices: ReadonlyMap<string, Slice>;
}

function prepare(request: EvaluationRequest, { shape, entities, slices, at }: Loaded): Prepared {
  const action = shape.actions.get(request.action.name);
  const slice = slices.get(request.action.name);
  if (!action || !slice) return { kind: 'unknown_action' };
  try {
    const principal = { type: 'Subject', id: entityId(request.subject) };
    const resource = { type: 'Resource', id: entityId(request.resource) };
    const asked = [
      toEntity(principal, request.subject, { shape: shape.subject, entities, path: 'subject' }),
      toEntity(resource, request.resource, { shape: shape.resource, entities, path: 'resource' }),
    ];
    const call: Ready['call'] = {
      principal,
      action: { type: 'Action', id: action.name },
      resource,
      context: contextOf(request, action, at),
      entities: unique([...asked, ...entities.from([principal, resource]), ...slice.named]),
      preparsedSchemaName: slice.schemaName,
    };
    const sets = slice.setsFor(principal.id, resource.id);
    return { kind: 'ready', action, call, sets, cacheKey: JSON.stringify([action.name, asked]) };
  } catch (error) {
    if (error instanceof ConversionError) return { kind: 'failed', cause: error.message };
    throw error;
  }
}

/** What the request says, and the facts that the host makes of it. Throws `ConversionError`. */
function contextOf(request: EvaluationRequest, action: ActionShape, at: number): StatefulAuthorizationCall['context'] {
  const has = (member: string) => action.context.has(member);
  const said = {
    ...request.context,
    [ACTION_MEMBER]: request.action.properties,
    ...(has(HOST_MEMBERS.call) && { [HOST_MEMBERS.call]: callOf(request) }),
  };
  return {
    ...(action.projectContext(said, 'context') as StatefulAuthorizationCall['context']),
    ...(action.values && { [HOST_MEMBERS.values]: valuesOf(request, action.values) }),
    ...(action.zones && { [HOST_MEMBERS.time]: timeOf(at, action.zones) }),
  };
}

/** What the request says about an entity, under what the PDP itself knows about it. Throws `ConversionError`. */
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
  return { ...own, uid, attrs, parents: [...own.parents] };
}

/** Cedar refuses an entity that is there twice. The first, which the request is about, has the most attributes. */
function unique(entities: readonly EntityJson[]): EntityJson[] {
  const known = new Set<string>();
  return entities.filter(({ uid }) => {
    const { type, id } = uid as TypeAndId;
    const size = known.size;
    return known.add(`${type}::${id}`).size > size;
  });
}

/** Characters of all keys of a cache together, and of one key at most. */
const MAX_CHARS = 8 * 1024 * 1024;
const MAX_KEY_CHARS = 16 * 1024;

/**
 * Caches Cedar's answers by the whole request. An answer depends on the request and the policies alone: Cedar has no clock,
 * no randomness and no memory. The time is part of the request, where the schema declares it. Does not cache failures: a repeat may succeed.
 */
export function createDecisionCache() {
  const cached = new LRUCache<string, CedarAnswer>({
    maxSize: MAX_CHARS,
    maxEntrySize: MAX_KEY_CHARS,
    sizeCalculation: (_answer, key) => key.length + 1,
  });
  return (key: string, evaluate: () => CedarAnswer): CedarAnswer => {
    const known = cached.get(key);
    if (known !== undefined) return known;
    const answer = evaluate();
    if (answer.kind !== 'failed') cached.set(key, answer);
    return answer;
  };
}

function evaluatorWithCache() {
  const cached = createDecisionCache();
  return ({ action, call, sets, cacheKey }: Ready, approval?: ApprovalFacts): CedarAnswer => {
    const has = (member: string) => action.context.has(member);
    const context = {
      ...call.context,
      ...(approval !== undefined && has(APPROVAL_MEMBER) && { [APPROVAL_MEMBER]: { ...approval } }),
      ...(has(HOST_MEMBERS.approved) && { [HOST_MEMBERS.approved]: approvedBy(approval?.template) }),
    };
    return cached(cacheKey + JSON.stringify(context), () => askCedar({ ...call, context }, sets));
  };
}

/**
 * Evaluates every set and joins the answers as Cedar would for one set of all: a forbid beats every permit. A policy that
 * errors in any set makes the answer worthless, so each set is evaluated.
 */
function askCedar(call: Ready['call'], sets: readonly string[]): CedarAnswer {
  const answers = sets.map((set, index) =>
    evaluateSet({ ...call, preparsedPolicySetId: set, validateRequest: index === 0 }),
  );
  const failed = answers.find(({ kind }) => kind === 'failed');
  if (failed) return failed;
  const determining = (kind: 'allow' | 'deny') =>
    answers.flatMap((answer) => (answer.kind === kind ? answer.policies : [])).sort();
  const denying = determining('deny');
  if (denying.length > 0) return { kind: 'deny', policies: denying };
  const permitting = determining('allow');
  return { kind: permitting.length > 0 ? 'allow' : 'deny', policies: permitting };
}

function evaluateSet(call: StatefulAuthorizationCall): CedarAnswer {
  try {
    const answer = statefulIsAuthorized(call);
    // Cedar's messages may quote values of the request, so only codes and policies are passed on.
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
