import { setImmediate } from 'node:timers/promises';
import * as z from 'zod';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { isObject } from '../../../workflows/domain/canonical-json.ts';
import { SUPPORTED_MEMBER } from '../../../workflows/domain/authzen/obligation.ts';
import type { DecisionBody } from '../decide.ts';

/** A request body that cannot be decided. The message is sent to the caller and names members, never values. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

/** For each semantic of a batch: whether the batch ends with this decision. */
const IS_LAST = {
  execute_all: () => false,
  deny_on_first_deny: (decision: boolean) => !decision,
  permit_on_first_permit: (decision: boolean) => decision,
};
const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;

/** A batch. Each entry has the defaults filled in and is not checked yet. */
export interface Batch {
  readonly semantic: (typeof SEMANTICS)[number];
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

let reading: Promise<void> | undefined;

/**
 * Batching: settles when the process has read all requests that have arrived. So under load it reads them together and then decides
 * them together. Code and data of reading would otherwise evict those of deciding from the processor's caches.
 */
export function requestsAreRead(): Promise<void> {
  reading ??= setImmediate().then(() => {
    reading = undefined;
  });
  return reading;
}

/** Checks an evaluation request and returns what arrived, so that a denial binds what was sent. Throws `BadRequest`. */
export function readEvaluation(body: unknown): EvaluationRequest {
  checkShape(body, requestSchema);
  const { subject, action, resource, context } = body as EvaluationRequest;
  return { subject, action, resource, context: context ?? {} };
}

/**
 * Reads a batch. Undefined if the body has no entries, and so is a single evaluation request. Throws `BadRequest`, also for more
 * than `maxEntries`.
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
  if (!isObject(entry)) return entry;
  const names = ['subject', 'action', 'resource', 'context'];
  return Object.fromEntries(names.map((name) => [name, entry[name] ?? defaults[name]]));
}

/** Evaluations block the process. After so many, other requests get their turn. */
const ENTRIES_AT_A_TIME = 32;

/** Decides the entries in order. An entry that is no evaluation request is denied and affects no other (AZ-BX-07). */
export async function decideBatch(
  batch: Batch,
  decide: (request: EvaluationRequest) => Promise<DecisionBody>,
): Promise<{ evaluations: DecisionBody[] }> {
  const evaluations: DecisionBody[] = [];
  for (const [index, entry] of batch.entries.entries()) {
    if (index % ENTRIES_AT_A_TIME === ENTRIES_AT_A_TIME - 1) await setImmediate();
    const answer = await decideEntry(entry, decide);
    evaluations.push(answer);
    if (IS_LAST[batch.semantic](answer.decision)) break;
  }
  return { evaluations };
}

async function decideEntry(
  entry: unknown,
  decide: (request: EvaluationRequest) => Promise<DecisionBody>,
): Promise<DecisionBody> {
  try {
    return await decide(readEvaluation(entry));
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    return { decision: false, context: { error: { status: 400, message: error.message } } };
  }
}

const MAX_DEPTH = 128;

/** Refuses bodies nested so deep that walking them would exhaust the stack. Throws `BadRequest`. */
export function checkDepth(body: unknown): void {
  if (!isNestedWithin(body, MAX_DEPTH)) throw new BadRequest(`the body is nested deeper than ${MAX_DEPTH} levels`);
}

function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isNestedWithin(member, levels - 1));
}

/** Throws a `BadRequest` that names the wrong member. */
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
