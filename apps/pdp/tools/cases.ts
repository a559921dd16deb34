import { dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import * as z from 'zod';
import { type Json, type JsonObject, objectOf, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { SearchKind } from '../search.ts';
import { readText } from '../../shared/text-file.ts';

/** What the assumed approval of a case is worth. */
const APPROVAL_STATES = ['valid', 'expired', 'out_of_scope', 'unverifiable'] as const;

const expectation = z.strictObject({
  decision: z.boolean(),
  /** `context.reason` of a denial. */
  reason: z.string().optional(),
  /** Template of the access request that is offered. */
  template: z.string().optional(),
  /** What can be done next, in a denial of a request that came with an approval. */
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

/** What is expected of one decision. Absent members are not compared. */
export type Expectation = z.infer<typeof expectation>;
export type AssumedApproval = z.infer<typeof approval>;
/** Where the request of a case goes: one evaluation, a batch, or a search. */
export type Endpoint = 'evaluation' | 'evaluations' | SearchKind;

/** One request and its right answer. */
export interface PolicyCase {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly request: JsonObject;
  readonly approval?: AssumedApproval | undefined;
  /** A list for a batch. All results, in any order, for a search. */
  readonly expected: Expectation | readonly Expectation[] | { readonly results: readonly Json[] };
}

/**
 * Reads cases from YAML or JSON: `{ policies?, cases: [{ name?, request, approval?, expected }] }`, or a published form
 * `{ evaluation: [...], evaluations: [...], search: [...] }`. `policies` is the absolute path of the policy folder, if the file
 * names one. Throws `ERR_CONFIG_INVALID` for anything else: a misspelt expectation could never fail.
 */
export async function readCaseSet(
  file: string,
): Promise<{ readonly policies: string | undefined; readonly cases: readonly PolicyCase[] }> {
  const raw = await readYaml(file);
  const isInterop = typeof raw === 'object' && raw !== null && !('cases' in raw) && !('policies' in raw);
  const checked = (isInterop ? interopForm : ownForm).safeParse(raw);
  if (!checked.success) throw invalid(file, z.prettifyError(checked.error), checked.error);
  const toCase = (prefix: string) => (one: Given, index: number) => {
    const place = `${prefix} ${index + 1}`;
    return { ...one, name: one.name ?? place, endpoint: endpointOf(file, one, place) };
  };
  if ('cases' in checked.data) {
    const { policies, cases } = checked.data;
    return { policies: policies && resolve(dirname(file), policies), cases: cases.map(toCase('case')) };
  }
  const lists = Object.entries(checked.data);
  return { policies: undefined, cases: lists.flatMap(([list, cases]) => cases.map(toCase(list))) };
}

async function readYaml(file: string): Promise<unknown> {
  const text = await readText(file).catch((cause: unknown) => {
    throw invalid(file, 'the file cannot be read', cause);
  });
  try {
    return parse(text);
  } catch (cause) {
    throw invalid(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

type Given = z.infer<typeof single> | z.infer<typeof batch> | z.infer<typeof search>;

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

/** Sends the request of a case to the policies and returns the body of the response. */
export type Ask = (one: Pick<PolicyCase, 'endpoint' | 'request' | 'approval'>) => Promise<unknown>;

/** Pages of one search that are followed. A search with more seems to have no end. */
const MAX_PAGES = 1_000;

/**
 * Runs the cases one after the other. `misses` say what is not as expected, one sentence each. A request that fails is a miss like
 * any other.
 */
export async function runCases(cases: readonly PolicyCase[], ask: Ask) {
  const results: { name: string; endpoint: Endpoint; misses: readonly string[] }[] = [];
  for (const one of cases) {
    const misses = await missesOf(one, ask).catch((error: unknown) => [
      error instanceof Error ? error.message : String(error),
    ]);
    results.push({ name: one.name, endpoint: one.endpoint, misses });
  }
  return results;
}

async function missesOf(one: PolicyCase, ask: Ask): Promise<string[]> {
  const { expected } = one;
  if ('results' in expected) return compareResults(expected.results, await searchAll(one, ask));
  if ('decision' in expected) return compareOne(expected, await ask(one));
  const answers = memberOf(await ask(one), 'evaluations');
  if (!Array.isArray(answers)) return ['expected a batch of decisions, got none'];
  if (answers.length !== expected.length) return [`expected ${expected.length} decisions, got ${answers.length}`];
  return expected.flatMap((each, index) =>
    compareOne(each, answers[index]).map((miss) => `decision ${index + 1}: ${miss}`),
  );
}

function compareOne(expected: Expectation, answer: unknown): string[] {
  const context = memberOf(answer, 'context');
  const got: { [Member in keyof Required<Expectation>]: unknown } = {
    decision: memberOf(answer, 'decision'),
    reason: memberOf(context, 'reason'),
    template: memberOf(memberOf(context, 'access_request'), 'template'),
    next_action: memberOf(context, 'next_action'),
    obligations: idsOf(memberOf(context, 'obligations')),
  };
  return Object.entries(expected).flatMap(([member, wanted]) => {
    const found = got[member as keyof Expectation];
    const isMet = isDeepStrictEqual(found, Array.isArray(wanted) ? [...wanted].sort() : wanted);
    return isMet ? [] : [`expected ${member} ${show(wanted)}, got ${show(found)}`];
  });
}

/** Order means nothing (OBL-05). */
const idsOf = (obligations: unknown): unknown[] =>
  Array.isArray(obligations) ? obligations.map((one) => memberOf(one, 'id')).sort() : [];

function compareResults(expected: readonly unknown[], found: readonly unknown[]): string[] {
  const lacks = (list: readonly unknown[]) => (one: unknown) => !list.some((other) => isDeepStrictEqual(one, other));
  return [
    ...expected.filter(lacks(found)).map((one) => `${show(one)} is not found`),
    ...found.filter(lacks(expected)).map((one) => `${show(one)} is found`),
  ];
}

/** The results of all pages. */
async function searchAll({ endpoint, request }: PolicyCase, ask: Ask): Promise<unknown[]> {
  const all: unknown[] = [];
  let page: JsonObject | undefined;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const answer = await ask({ endpoint, request: page ? { ...request, page } : request });
    const results = memberOf(answer, 'results');
    if (!Array.isArray(results)) throw new Error('expected results, got none');
    all.push(...(results as unknown[]));
    const token = memberOf(memberOf(answer, 'page'), 'next_token');
    if (typeof token !== 'string' || token === '') return all;
    page = { token };
  }
  throw new Error(`a search has not ended after ${MAX_PAGES} pages`);
}

const show = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value));

const memberOf = (value: unknown, name: string) => ownProperty(objectOf(value), name);
