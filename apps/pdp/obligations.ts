import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { OBLIGATION_TYPES, type Obligation } from '../../workflows/domain/authzen/obligation.ts';
import type { PolicyAnswer } from './cedar/requestable.ts';

/** Reason of a denial in place of a permit that the enforcement point could not make use of. */
const NOT_SUPPORTED = 'obligation_not_supported';

const obligation = z.object({
  id: z.string().min(1),
  type: z.enum(OBLIGATION_TYPES),
  properties: z.record(z.string(), z.json()),
});

/**
 * The obligations that stand in somebody else's decision. `isWhole`: every one of them can be handed on; otherwise there is one
 * that cannot, be it malformed, of a type that is not registered (OBL-04), or of an id that names two (OBL-03).
 */
export function obligationsIn(context: unknown): { readonly handed: readonly Obligation[]; readonly isWhole: boolean } {
  const { obligations: found } = (context ?? {}) as { obligations?: unknown };
  if (found === undefined || found === null) return { handed: [], isWhole: true };
  const all: unknown[] = Array.isArray(found) ? found : [];
  const read = all.flatMap((one) => (obligation.safeParse(one).data as Obligation | undefined) ?? []);
  const handed = read.filter(({ id }) => read.filter((other) => other.id === id).length === 1);
  return { handed, isWhole: Array.isArray(found) && handed.length === all.length };
}

/**
 * The answer, or a denial where an enforcement point that said what it can comply with could make no use of it: neither of a permit
 * nor of an approval that would bring one (OBL-13, OBL-32). Of types that are not ours nothing is ever demanded, so that
 * declaring one changes nothing (OBL-23). One that says nothing may get any (OBL-24). Obligations of a denial stay: it
 * remains one, whatever becomes of them.
 */
export function withinSupport(answer: PolicyAnswer, declared: readonly string[] | undefined): PolicyAnswer {
  if (declared === undefined || (answer.kind !== 'permit' && answer.kind !== 'requestable')) return answer;
  const needed = (answer.kind === 'permit' ? answer.obligations : answer.ifApproved) ?? [];
  if (needed.every(({ type }) => declared.includes(type))) return answer;
  const { policies } = answer;
  const ownObligations = answer.kind === 'requestable' ? answer.obligations : undefined;
  return { kind: 'deny', reason: NOT_SUPPORTED, policies, ...(ownObligations && { obligations: ownObligations }) };
}

/** The decision with its obligations, and a name to which whoever is told of them can refer. Without any it stays as it is (OBL-01). */
export function withObligations<Body extends { readonly context?: object }>(
  body: Body,
  { obligations = [] }: PolicyAnswer,
): Body {
  if (obligations.length === 0) return body;
  return { ...body, context: { evaluation_id: `eval_${randomUUID()}`, ...body.context, obligations } };
}
