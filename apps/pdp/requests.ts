import * as z from 'zod';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { SUPPORTED_MEMBER } from '../../workflows/domain/authzen/obligation.ts';

/** A request body that cannot be decided; the message is sent to the caller and names members, never values. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;
export type Semantic = (typeof SEMANTICS)[number];

/** A batch: each entry with the defaults filled in, not yet checked. */
export interface Batch {
  readonly semantic: Semantic;
  readonly entries: readonly unknown[];
}

// AuthZEN asks to tolerate unknown members everywhere and treats null as left out (AZ-TR-07, AZ-TR-14).
export const text = z.string().refine((value) => !/\p{Surrogate}/u.test(value), 'is not well-formed Unicode');
export const members = z.record(z.string(), z.unknown());
const properties = members.nullish();
export const entity = z.looseObject({ type: text, id: text, properties });
export const action = z.looseObject({ name: text, properties });
const requestSchema = z.looseObject({
  subject: entity,
  action,
  resource: entity,
  context: z.looseObject({ [SUPPORTED_MEMBER]: z.array(text).nullish() }).nullish(),
});
const batchSchema = z.looseObject({
  evaluations: z.array(z.unknown()).nullish(),
  options: z.looseObject({ evaluations_semantic: z.enum(SEMANTICS).nullish() }).nullish(),
});

/** Checks one evaluation request and hands out what arrived, so that what is bound is what was sent. Throws `BadRequest`. */
export function readEvaluation(body: unknown): EvaluationRequest {
  checkShape(body, requestSchema);
  const { subject, action, resource, context } = body as EvaluationRequest;
  return { subject, action, resource, context: context ?? {} };
}

/**
 * Reads a batch; undefined when the body has no entries and is to be answered like a single request. Throws `BadRequest`,
 * also when there are more than `maxEntries`.
 */
export function readBatch(body: unknown, maxEntries = Infinity): Batch | undefined {
  const { evaluations, options } = checkShape(body, batchSchema);
  if (!evaluations || evaluations.length === 0) return undefined;
  if (evaluations.length > maxEntries)
    throw new BadRequest(`evaluations has more than ${maxEntries} entries: send several requests`);
  const defaults = body as Record<string, unknown>;
  return {
    semantic: options?.evaluations_semantic ?? 'execute_all',
    entries: evaluations.map((entry) => withDefaults(entry, defaults)),
  };
}

/** An entry's own member replaces the default as a whole; nothing is merged (AZ-BX-04). */
function withDefaults(entry: unknown, defaults: Record<string, unknown>): unknown {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return entry;
  const own = entry as Record<string, unknown>;
  const names = ['subject', 'action', 'resource', 'context'];
  return Object.fromEntries(names.map((name) => [name, own[name] ?? defaults[name]]));
}

const MAX_DEPTH = 128;

/** Refuses bodies nested so deep that walking them would exhaust the stack. Throws `BadRequest`. */
export function checkDepth(body: unknown): void {
  if (isDeeperThan(body, MAX_DEPTH)) throw new BadRequest(`the body is nested deeper than ${MAX_DEPTH} levels`);
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Object.values(value)) if (isDeeperThan(member, levels - 1)) return true;
  return false;
}

/** Throws `BadRequest` that names the place which is wrong. */
export function checkShape<T>(body: unknown, schema: z.ZodType<T>): T {
  const checked = schema.safeParse(body);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  throw new BadRequest(issue ? describe(issue, body) : 'the body is not an evaluation request');
}

function describe(issue: z.core.$ZodIssue, body: unknown): string {
  const place = issue.path.length === 0 ? 'the body' : issue.path.join('.');
  if (issue.code === 'invalid_type') {
    const expected = issue.expected === 'record' ? 'object' : issue.expected;
    return isMissing(body, issue.path) ? `${place} is missing` : `${place} is not of type ${expected}`;
  }
  return `${place}: ${issue.message}`;
}

function isMissing(body: unknown, path: readonly PropertyKey[]): boolean {
  let value = body;
  for (const key of path) value = (value as Record<PropertyKey, unknown> | undefined)?.[key];
  return value === undefined || value === null;
}
