import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { ownProperty } from '../../../workflows/domain/own-property.ts';
import type { Prepared } from '../cedar/engine.ts';
import { isObject } from '../cedar/projection.ts';
import { ACTION_MEMBER } from '../cedar/schema.ts';
import { checkDepth, readEvaluation } from '../requests.ts';
import { loadVersion, readPolicyTexts, type PolicyPlaces } from '../versions/version.ts';
import { outcomeOf, type Outcome } from './outcome.ts';
import { permitsFor } from './survey.ts';

/** Why a request is decided as it is. */
export interface Explanation extends Outcome {
  readonly version: string;
  /** Members of the request that policies could see, and those that no declaration in the schema lets them. */
  readonly seen: readonly string[];
  readonly leftAside: readonly string[];
  /** Of a request that nothing permits: ids of the policies that permit such a one in another case. None: no policy is about it. */
  readonly permitsElsewhere?: readonly string[];
}

/** Throws `ERR_CONFIG_INVALID` for policies that cannot be used, and `BadRequest` for what is no request. */
export async function explainRequest(body: unknown, places: PolicyPlaces, approvedFor?: string): Promise<Explanation> {
  checkDepth(body);
  const request = readEvaluation(body);
  const version = await loadVersion(await readPolicyTexts(places), places);
  const prepared = version.engine.prepare(request);
  const outcome = outcomeOf(version, request, approvedFor);
  const permitsNothing = outcome.outcome === 'deny' && outcome.policies.length === 0;
  const elsewhere = () => permitsFor(version.engine, request.action.name, request.resource).map(({ id }) => id);
  const explanation = {
    version: version.id,
    ...outcome,
    ...(permitsNothing && { permitsElsewhere: elsewhere() }),
    ...visibility(request, prepared),
  };
  version.engine.release();
  return explanation;
}

function visibility(request: EvaluationRequest, prepared: Prepared): Pick<Explanation, 'seen' | 'leftAside'> {
  const found = { seen: [] as string[], leftAside: [] as string[] };
  if (prepared.kind === 'failed') return found;
  const call = prepared.kind === 'ready' ? prepared.call : undefined;
  const [subject, resource] = call?.entities ?? [];
  const { approval: presented, ...context } = request.context;
  const { [ACTION_MEMBER]: action, ...fromContext } = call?.context ?? {};
  compare(request.subject, subject?.attrs, 'subject', found);
  compare(request.action, call && { name: request.action.name, properties: action }, 'action', found);
  compare(request.resource, resource?.attrs, 'resource', found);
  compare(context, fromContext, 'context', found);
  // Policies see facts about an approval only, after it was verified.
  if (presented !== undefined) found.leftAside.push('context.approval');
  return found;
}

/** Follows what was sent and what came of it side by side. */
function compare(sent: unknown, kept: unknown, path: string, found: { seen: string[]; leftAside: string[] }): void {
  const members: readonly (readonly [string, unknown, unknown])[] | undefined = Array.isArray(sent)
    ? sent.map((item, index) => [`${path}[${index}]`, item, Array.isArray(kept) ? kept[index] : undefined] as const)
    : isObject(sent)
      ? Object.entries(sent).map(
          ([name, value]) => [`${path}.${name}`, value, isObject(kept) ? ownProperty(kept, name) : undefined] as const,
        )
      : undefined;
  if (kept === undefined) found.leftAside.push(path);
  else if (members === undefined || members.length === 0) found.seen.push(path);
  else for (const [place, value, own] of members) compare(value, own, place, found);
}
