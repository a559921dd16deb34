import * as z from 'zod';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Obligation } from '../../../workflows/domain/authzen/obligation.ts';
import type { Policies } from './policies.ts';
import type { PolicyFiles } from './policy-files.ts';
import { endOf, InvalidPolicies, type Problem } from './problems.ts';

/** What policies may name by `@obligation`, by id. */
export type ObligationDefinitions = ReadonlyMap<string, Obligation>;

const text = z.string().min(1);
/** The registered types with what each is given. A misspelt property would be one that nobody carries out. */
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
 * Reads `<id>.obligation.json`, and holds what policies name against what is there. Throws `InvalidPolicies` with all that is wrong:
 * an obligation that nobody could send must not be found out by the request that needs it.
 */
export function readObligationFiles(files: PolicyFiles['obligations'], policies: Policies): ObligationDefinitions {
  const problems: Problem[] = [];
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
      const message = `@obligation of "${policy}" names "${id}". Write ${id}.obligation.json beside it, or mend the name.`;
      problems.push({ file, line, column, message });
    }
  }
  if (problems.length > 0) throw new InvalidPolicies(problems);
  return found;
}

function parseFile(file: string, content: string): z.infer<typeof definition> | Problem {
  let raw: unknown;
  try {
    raw = JSON.parse(content);
  } catch (cause) {
    const position = /at position (\d+)/.exec((cause as SyntaxError).message)?.[1];
    const place = position === undefined ? {} : endOf(content.slice(0, Number(position)));
    return { file, ...place, message: 'it is not JSON. Write { "type": …, "properties": { … } }.' };
  }
  const { data, error } = definition.safeParse(raw);
  if (data) return data;
  const [issue] = error.issues;
  // Where the member stands that is wrong, or else where the object begins.
  const member = issue?.code === 'unrecognized_keys' ? issue.keys[0] : issue?.path.at(-1);
  const at = member === undefined ? 0 : Math.max(0, content.indexOf(`"${String(member)}"`));
  const why = z.prettifyError(error).replaceAll(/\s*\n\s*/g, ' ');
  return { file, ...endOf(content.slice(0, at)), message: `${why}. Write { "type": …, "properties": { … } }.` };
}

/**
 * What the policies of an answer demand, each obligation once however many of them name it (OBL-03), in the order of their ids. Of a permit
 * those that permit speak, of a denial those that forbid.
 */
export function demandedBy(
  { policies, obligations }: { readonly policies: Policies; readonly obligations: ObligationDefinitions },
  request: EvaluationRequest,
  { of, effect }: { readonly of: readonly string[]; readonly effect: 'permit' | 'forbid' },
): readonly Obligation[] {
  const speaking = of.flatMap((id) => policies.get(id) ?? []).filter((policy) => policy.effect === effect);
  const ids = [...new Set(speaking.flatMap((policy) => policy.obligations))].sort();
  return ids.flatMap((id) => obligations.get(id) ?? []).map((one) => about(one, request));
}

/** Whose sessions end is nothing that a file could say, unless it is always the same subject. */
function about(obligation: Obligation, { subject }: EvaluationRequest): Obligation {
  if (obligation.type !== 'session_termination') return obligation;
  return { ...obligation, properties: { subject: subject.id, ...obligation.properties } };
}
