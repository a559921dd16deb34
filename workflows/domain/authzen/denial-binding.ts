import { canonicalJson, type Json, type JsonObject } from '../canonical-json.ts';
import type { EvaluationRequest, Subject } from './evaluation.ts';

/** Context members that a PDP answers rather than is asked: they bind nothing, even when a token lists them. */
export const NEVER_BOUND: ReadonlySet<string> = new Set([
  'access_request',
  'evaluation_id',
  'evaluated_at',
  'reason',
  'approval',
]);

/**
 * The parts to which a requestable denial and its approval are bound: subject without the delegation it came through, action,
 * resource, and exactly the named context members. A named member that is not there stays absent.
 * @see ARAP, Binding Token Integrity
 */
export function boundParts(request: EvaluationRequest, members: readonly string[]): JsonObject {
  const { subject, action, resource, context } = request;
  const bound = members
    .filter((member) => !NEVER_BOUND.has(member) && Object.hasOwn(context, member))
    .map((member): [string, Json] => [member, context[member] ?? null]);
  return {
    subject: withoutActor(subject),
    action: { ...action },
    resource: { ...resource },
    context: Object.fromEntries(bound),
  };
}

/**
 * The same for several resources and actions that were denied together: subject and context of all, and each pair in the order
 * in which it was denied. Takes at least one evaluation request; they differ in resource and action alone.
 * @see ARAP, Binding Token Integrity (ARAP-BLK-03)
 */
export function boundBundle(requests: readonly EvaluationRequest[], members: readonly string[]): JsonObject {
  const [first] = requests;
  if (first === undefined) throw new RangeError('a bundle has items');
  const { subject, context } = boundParts(first, members);
  const items = requests.map(({ resource, action }) => ({ resource: { ...resource }, action: { ...action } }));
  return { subject: subject ?? null, items, context: context ?? null };
}

/** `properties` stays, even when `act` was all it held. */
function withoutActor(subject: Subject): JsonObject {
  // On the wire, a member that is null counts as left out.
  if (!subject.properties) return { ...subject };
  const { act: _act, ...properties } = subject.properties;
  return { ...subject, properties };
}

/** Whether two values are the same by structure: member order and number notation play no part. */
export function isSameJson(a: Json, b: Json): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
