import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { type Json, type JsonObject, objectOf, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { HOST_MEMBERS } from '../engine/cedar/facts.ts';
import type { Prepared } from '../engine/cedar/evaluator.ts';
import type { PolicyPlaces } from '../engine/cedar/policy-folder.ts';
import { ACTION_MEMBER } from '../engine/cedar/schema.ts';
import { loadCurrent } from '../engine/cedar/version.ts';
import { checkDepth, readEvaluation } from '../http/requests.ts';
import { outcomeOf, type Outcome } from './outcome.ts';
import { permitsFor } from './survey.ts';
import { rulesThatMadeWay, type UntestedRule, untestedRules } from './untested.ts';

/** Why a request is decided as it is. */
export interface Explanation extends Outcome {
  readonly version: string;
  /** Members of the request that policies could see, and those that the schema does not declare. */
  readonly seen: readonly string[];
  readonly leftAside: readonly string[];
  /** Rules that match only possibly, because something cannot be tested. An `allow` rule among them does not count. */
  readonly untested: readonly UntestedRule[];
  /** `approve` rules that do not ask, because a rule with `insteadOf` matches. */
  readonly madeWay: readonly string[];
  /** If nothing permits the request: ids of the policies that could permit it in another case. Empty if no policy is about it. */
  readonly permitsElsewhere?: readonly string[];
}

/** Throws `ERR_CONFIG_INVALID` for policies that cannot be used, and `BadRequest` for a body that is no evaluation request. */
export async function explainRequest(body: unknown, places: PolicyPlaces, approvedFor?: string): Promise<Explanation> {
  checkDepth(body);
  const request = readEvaluation(body);
  const version = await loadCurrent(places);
  const { evaluator } = version;
  const prepared = evaluator.prepare(request);
  const outcome = outcomeOf(version, request, approvedFor);
  const permitsNothing = outcome.outcome === 'deny' && outcome.policies.length === 0;
  const elsewhere = () => permitsFor(evaluator, request.action.name, request.resource).map(({ id }) => id);
  const outcomeBy = async (of: PolicyPlaces) => {
    const other = await loadCurrent(of);
    try {
      return outcomeOf(other, request, approvedFor);
    } finally {
      other.evaluator.release();
    }
  };
  const explanation = {
    version: version.id,
    ...outcome,
    untested: await untestedRules(request, places),
    madeWay: await rulesThatMadeWay(outcomeBy, places),
    ...(permitsNothing && { permitsElsewhere: elsewhere() }),
    ...visibility(request, prepared),
  };
  evaluator.release();
  return explanation;
}

function visibility(request: EvaluationRequest, prepared: Prepared): Pick<Explanation, 'seen' | 'leftAside'> {
  const found = { seen: [] as string[], leftAside: [] as string[] };
  if (prepared.kind === 'failed') return found;
  const call = prepared.kind === 'ready' ? prepared.call : undefined;
  const [subject, resource] = call?.entities ?? [];
  const { approval: presented, ...context } = request.context;
  const { [ACTION_MEMBER]: action, [HOST_MEMBERS.values]: values, ...fromContext } = call?.context ?? {};
  compare(request.subject, subject?.attrs, 'subject', found);
  compare(request.action, call && { name: request.action.name, properties: action }, 'action', found);
  compare(request.resource, resource?.attrs, 'resource', found);
  compare(context, withArguments(fromContext, values, context), 'context', found);
  // Policies see the facts about an approval, and only after it was verified.
  if (presented !== undefined) found.leftAside.push('context.approval');
  return found;
}

/** What rules see of the arguments, in the place where a caller sends it. */
function withArguments(kept: object, values: unknown, { arguments: sent }: JsonObject): object {
  const seen = objectOf(ownProperty(kept as JsonObject, 'arguments'));
  for (const key of Object.keys(objectOf(values))) keep(seen, objectOf(sent), key.split('.'));
  return Object.keys(seen).length === 0 ? kept : { ...kept, arguments: seen };
}

function keep(into: Record<string, Json>, from: JsonObject, [name = '', ...rest]: readonly string[]): void {
  const value = ownProperty(from, name);
  if (value === undefined) return;
  if (rest.length === 0) into[name] = value;
  else keep((into[name] = { ...objectOf(into[name]) }), objectOf(value), rest);
}

const isNested = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Compares what was sent with what Cedar gets, member by member. */
function compare(sent: unknown, kept: unknown, path: string, found: { seen: string[]; leftAside: string[] }): void {
  const members = Object.entries(isNested(sent) ? sent : {});
  if (kept === undefined) found.leftAside.push(path);
  else if (members.length === 0) found.seen.push(path);
  for (const [name, value] of kept === undefined ? [] : members) {
    const place = Array.isArray(sent) ? `${path}[${name}]` : `${path}.${name}`;
    compare(value, isNested(kept) ? ownProperty(kept, name) : undefined, place, found);
  }
}
