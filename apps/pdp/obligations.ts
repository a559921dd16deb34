import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { OBLIGATION_TYPES, type Obligation } from '../../workflows/domain/authzen/obligation.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { Policies } from './engine/cedar/policies.ts';
import type { PolicyFiles } from './engine/cedar/policy-folder.ts';
import { endOf, InvalidPolicies, placeOfSyntaxError, type PolicyProblem } from './engine/cedar/problems.ts';
import type { PolicyAnswer } from './engine/policy-engine.ts';

/** What policies may name by `@obligation`, by id. */
export type ObligationDefinitions = ReadonlyMap<string, Obligation>;

const text = z.string().min(1);
/** The registered types with the properties of each. No enforcement point would carry out a misspelt property. */
const definition = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('notification'),
    properties: z.strictObject({ to: text, body: z.string(), topic: text.optional() }),
  }),
  z.strictObject({
    type: z.literal('step-up'),
    properties: z.strictObject({ acr_value: text, amr_values: z.array(text).min(1).optional() }),
  }),
  z.strictObject({
    type: z.literal('session_termination'),
    properties: z.strictObject({ subject: text.optional() }).default({}),
  }),
  z.strictObject({ type: z.literal('custom'), properties: z.record(z.string(), z.json()) }),
]);

/**
 * Reads `<id>.obligation.json`, and checks that policies and files name the same obligations. Throws `InvalidPolicies` with
 * every error, so that a wrong obligation is found before a request needs it.
 */
export function readObligations(files: PolicyFiles['obligations'], policies: Policies): ObligationDefinitions {
  const problems: PolicyProblem[] = [];
  const named = new Set([...policies.values()].flatMap(({ obligations }) => obligations));
  const found = new Map<string, Obligation>();
  for (const { file, id, text: content } of files) {
    if (!named.has(id)) {
      problems.push({ file, message: `no policy has @obligation("${id}"). Rename or remove it.` });
    }
    const read = parseFile(file, content);
    if ('message' in read) problems.push(read);
    else found.set(id, { id, type: read.type, properties: read.properties as JsonObject });
  }
  const written = new Set(files.map(({ id }) => id));
  for (const { id: policy, obligations, file, line, column } of policies.values()) {
    for (const id of obligations.filter((one) => !written.has(one))) {
      const message = `@obligation of "${policy}" names "${id}". Write ${id}.obligation.json beside it, or correct the name.`;
      problems.push({ file, line, column, message });
    }
  }
  if (problems.length > 0) throw new InvalidPolicies(problems);
  return found;
}

function parseFile(file: string, content: string): z.infer<typeof definition> | PolicyProblem {
  let raw: unknown;
  try {
    raw = JSON.parse(content);
  } catch (cause) {
    const message = 'it is not JSON. Write { "type": …, "properties": { … } }.';
    return { file, ...placeOfSyntaxError(cause, content), message };
  }
  const { data, error } = definition.safeParse(raw);
  if (data) return data;
  const [issue] = error.issues;
  // The place of the member that is wrong, or else of the beginning of the object.
  const member = issue?.code === 'unrecognized_keys' ? issue.keys[0] : issue?.path.at(-1);
  const at = member === undefined ? 0 : Math.max(0, content.indexOf(`"${String(member)}"`));
  const why = z.prettifyError(error).replaceAll(/\s*\n\s*/g, ' ');
  return { file, ...endOf(content.slice(0, at)), message: `${why}. Write { "type": …, "properties": { … } }.` };
}

/**
 * What the policies of an answer demand, in the order of the ids, and each obligation once however many policies name it
 * (OBL-03). A permit has the obligations of the policies that permit, a denial those of the policies that forbid.
 */
export function demandedBy(
  { policies, obligations }: { readonly policies: Policies; readonly obligations: ObligationDefinitions },
  request: EvaluationRequest,
  { of, effect }: { readonly of: readonly string[]; readonly effect: 'permit' | 'forbid' },
): readonly Obligation[] {
  const demanding = of.flatMap((id) => policies.get(id) ?? []).filter((policy) => policy.effect === effect);
  const ids = [...new Set(demanding.flatMap((policy) => policy.obligations))].sort();
  return ids.flatMap((id) => obligations.get(id) ?? []).map((one) => about(one, request));
}

/** A file cannot name the subject whose sessions end, unless it is always the same one. */
function about(obligation: Obligation, { subject }: EvaluationRequest): Obligation {
  if (obligation.type !== 'session_termination') return obligation;
  return { ...obligation, properties: { subject: subject.id, ...obligation.properties } };
}

const obligation = z.object({
  id: z.string().min(1),
  type: z.enum(OBLIGATION_TYPES),
  properties: z.record(z.string(), z.json()),
});

/**
 * The obligations in the decision of another PDP. `isWhole` is false if one of them cannot be passed on: it is malformed, its
 * type is not registered (OBL-04), or two have its id (OBL-03).
 */
export function obligationsIn(context: unknown): {
  readonly readable: readonly Obligation[];
  readonly isWhole: boolean;
} {
  const { obligations: found } = (context ?? {}) as { obligations?: unknown };
  if (found === undefined || found === null) return { readable: [], isWhole: true };
  const all: unknown[] = Array.isArray(found) ? found : [];
  const read = all.flatMap((one) => (obligation.safeParse(one).data as Obligation | undefined) ?? []);
  const readable = read.filter(({ id }) => read.filter((other) => other.id === id).length === 1);
  return { readable, isWhole: Array.isArray(found) && readable.length === all.length };
}

/** Reason of a denial in place of a permit that the enforcement point could not use. */
const NOT_SUPPORTED = 'obligation_not_supported';

/**
 * The answer, or a denial if the enforcement point says what it can comply with and could not use the answer: neither a permit
 * nor an approval that would bring one (OBL-13, OBL-32). No answer demands types that are not ours, so to declare one changes
 * nothing (OBL-23). An enforcement point that says nothing may get any (OBL-24). The obligations of a denial stay, since it
 * remains a denial whether or not they are fulfilled.
 *
 * @param declared Types of obligations that the enforcement point can comply with. Undefined if it says nothing.
 */
export function withinSupport(answer: PolicyAnswer, declared: readonly string[] | undefined): PolicyAnswer {
  if (declared === undefined || (answer.kind !== 'permit' && answer.kind !== 'requestable')) return answer;
  const needed = (answer.kind === 'permit' ? answer.obligations : answer.ifApproved) ?? [];
  if (needed.every(({ type }) => declared.includes(type))) return answer;
  const { policies } = answer;
  const ownObligations = answer.kind === 'requestable' ? answer.obligations : undefined;
  return { kind: 'deny', reason: NOT_SUPPORTED, policies, ...(ownObligations && { obligations: ownObligations }) };
}

/** The decision with its obligations and an id to refer to. Without obligations it stays as it is (OBL-01). */
export function withObligations<Body extends { readonly context?: object }>(
  body: Body,
  { obligations = [] }: PolicyAnswer,
): Body {
  if (obligations.length === 0) return body;
  return { ...body, context: { evaluation_id: `eval_${randomUUID()}`, ...body.context, obligations } };
}
