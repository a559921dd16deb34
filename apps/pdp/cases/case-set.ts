import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { SearchKind } from '../search/search-requests.ts';

/** What an approval that is assumed for a case is worth when it is presented. */
const APPROVAL_STATES = ['valid', 'expired', 'out_of_scope', 'unverifiable'] as const;

const expectation = z.strictObject({
  decision: z.boolean(),
  /** `context.reason` of a denial. */
  reason: z.string().optional(),
  /** Template of the access request that is offered. */
  template: z.string().optional(),
  /** What a denial that follows an approval says about going on. */
  next_action: z.string().optional(),
  /** Ids of all that is demanded of the enforcement point, in any order. */
  obligations: z.array(z.string()).optional(),
});
const decision = z.union([z.boolean().transform((decision) => ({ decision })), expectation]);
const results = z.strictObject({ results: z.array(z.record(z.string(), z.json())) });
const name = z.string().min(1).optional();
const request = z.record(z.string(), z.json()).transform((value) => value as JsonObject);
/** An approval to present with the request, as if its signature and its binding had been checked. */
const approval = z.strictObject({ template: z.string().min(1), state: z.enum(APPROVAL_STATES).default('valid') });
const single = z.strictObject({ name, request, approval: approval.optional(), expected: decision });
const batch = z.strictObject({ name, request, expected: z.array(decision).min(1) });
const search = z.strictObject({ name, request, expected: results });

const ownForm = z.strictObject({
  policies: z.string().min(1).optional(),
  cases: z.array(z.union([single, batch, search])).min(1),
});
/** The form in which the interoperability scenarios of AuthZEN publish what they expect. */
const interopForm = z
  .strictObject({
    evaluation: z.array(z.union([single, search])).default([]),
    evaluations: z.array(batch).default([]),
    search: z.array(search).default([]),
  })
  .refine((lists) => Object.values(lists).flat().length > 0, 'there is no case in it');

/** What is expected of one decision; members that are absent are not looked at. */
export type Expectation = z.infer<typeof expectation>;
export type AssumedApproval = z.infer<typeof approval>;
/** Which question a case is: one evaluation, a batch, or a search. */
export type Endpoint = 'evaluation' | 'evaluations' | SearchKind;

/** One question and its right answer. */
export interface PolicyCase {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly request: JsonObject;
  readonly approval?: AssumedApproval | undefined;
  /** A list where the question is a batch; all results, in any order, where it is a search. */
  readonly expected: Expectation | readonly Expectation[] | { readonly results: readonly Json[] };
}

export interface CaseSet {
  /** Absolute path of the policy folder that the file names; undefined when it names none. */
  readonly policies: string | undefined;
  readonly cases: readonly PolicyCase[];
}

/**
 * Reads cases from YAML or JSON: `{ policies?, cases: [{ name?, request, approval?, expected }] }`, or a published form
 * `{ evaluation: [...], evaluations: [...], search: [...] }`. Throws `ERR_CONFIG_INVALID` for anything else: a misspelt
 * expectation would be one that cannot fail.
 */
export async function readCaseSet(file: string): Promise<CaseSet> {
  const raw = await readYaml(file);
  const isInterop = typeof raw === 'object' && raw !== null && !('cases' in raw) && !('policies' in raw);
  const checked = (isInterop ? interopForm : ownForm).safeParse(raw);
  if (!checked.success) throw invalid(file, z.prettifyError(checked.error), checked.error);
  const toCase = (prefix: string) => (one: Given, index: number) => named(file, one, `${prefix} ${index + 1}`);
  if ('cases' in checked.data) {
    const { policies, cases } = checked.data;
    return { policies: policies && resolve(dirname(file), policies), cases: cases.map(toCase('case')) };
  }
  const lists = Object.entries(checked.data);
  return { policies: undefined, cases: lists.flatMap(([list, cases]) => cases.map(toCase(list))) };
}

async function readYaml(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw invalid(file, 'the file cannot be read', cause);
  });
  try {
    return parse(text);
  } catch (cause) {
    throw invalid(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

type Given = z.infer<typeof single> | z.infer<typeof batch> | z.infer<typeof search>;

function named(file: string, one: Given, place: string): PolicyCase {
  return { ...one, name: one.name ?? place, endpoint: endpointOf(file, one, place) };
}

/** A search leaves out what it searches for. */
function endpointOf(file: string, { request, expected }: Given, place: string): Endpoint {
  if (Array.isArray(expected)) return 'evaluations';
  if (!('results' in expected)) return 'evaluation';
  if (!('action' in request)) return 'action';
  const open = (['subject', 'resource'] as const).find((kind) => !Object.hasOwn(Object(request[kind]) as object, 'id'));
  if (open !== undefined) return open;
  throw invalid(file, `${place}: a search leaves out the action, the id of the subject or that of the resource`);
}

function invalid(file: string, why: string, cause?: unknown): CountersignError {
  return new CountersignError(
    'ERR_CONFIG_INVALID',
    `${file}: ${why}. Write { "cases": [{ "request": {…}, "expected": true }] }.`,
    { cause },
  );
}
