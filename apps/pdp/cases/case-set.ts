import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/** What an approval that is assumed for a case is worth when it is presented. */
export const APPROVAL_STATES = ['valid', 'expired', 'out_of_scope', 'unverifiable'] as const;

const expectation = z.strictObject({
  decision: z.boolean(),
  /** `context.reason` of a denial. */
  reason: z.string().optional(),
  /** Template of the access request that is offered. */
  template: z.string().optional(),
  /** What a denial that follows an approval says about going on. */
  next_action: z.string().optional(),
});
const expected = z.union([z.boolean().transform((decision) => ({ decision })), expectation]);
const request = z.record(z.string(), z.json()).transform((value) => value as JsonObject);
const single = z.strictObject({
  name: z.string().min(1).optional(),
  request,
  /** Present this approval with the request, as if its signature and its binding had been checked. */
  approval: z.strictObject({ template: z.string().min(1), state: z.enum(APPROVAL_STATES).default('valid') }).optional(),
  expected,
});
const batch = z.strictObject({ name: z.string().min(1).optional(), request, expected: z.array(expected).min(1) });

const ownForm = z.strictObject({
  policies: z.string().min(1).optional(),
  cases: z.array(z.union([single, batch])).min(1),
});
/** The form in which the interoperability scenarios of AuthZEN publish their decisions. */
const interopForm = z
  .strictObject({ evaluation: z.array(single).default([]), evaluations: z.array(batch).default([]) })
  .refine(({ evaluation, evaluations }) => evaluation.length + evaluations.length > 0, 'there is no case in it');

/** What is expected of one decision; members that are absent are not looked at. */
export type Expectation = z.infer<typeof expectation>;
export type AssumedApproval = NonNullable<z.infer<typeof single>['approval']>;

/** One question and its right answer: a list where the question is a batch. */
export interface PolicyCase {
  readonly name: string;
  readonly request: JsonObject;
  readonly approval?: AssumedApproval | undefined;
  readonly expected: Expectation | readonly Expectation[];
}

export interface CaseSet {
  /** Absolute path of the policy folder that the file names; undefined when it names none. */
  readonly policies: string | undefined;
  readonly cases: readonly PolicyCase[];
}

/**
 * Reads cases from YAML or JSON: `{ policies?, cases: [{ name?, request, approval?, expected }] }`, or the published form
 * `{ evaluation: [{ request, expected }], evaluations: [{ request, expected: [...] }] }`. Throws `ERR_CONFIG_INVALID` for
 * anything else: a misspelt expectation would be one that cannot fail.
 */
export async function readCaseSet(file: string): Promise<CaseSet> {
  const raw = await readYaml(file);
  const isInterop = typeof raw === 'object' && raw !== null && !('cases' in raw) && !('policies' in raw);
  const checked = (isInterop ? interopForm : ownForm).safeParse(raw);
  if (!checked.success) throw invalid(file, z.prettifyError(checked.error), checked.error);
  if ('cases' in checked.data) {
    const { policies, cases } = checked.data;
    return {
      policies: policies === undefined ? undefined : resolve(dirname(file), policies),
      cases: cases.map((one, index) => named(one, `case ${index + 1}`)),
    };
  }
  const { evaluation, evaluations } = checked.data;
  return {
    policies: undefined,
    cases: [
      ...evaluation.map((one, index) => named(one, `evaluation ${index + 1}`)),
      ...evaluations.map((one, index) => named(one, `evaluations ${index + 1}`)),
    ],
  };
}

async function readYaml(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw invalid(file, 'the file cannot be read', cause);
  });
  try {
    return parse(text);
  } catch (cause) {
    throw invalid(file, messageOf(cause), cause);
  }
}

const named = <T extends { name?: string | undefined }>(one: T, name: string) => ({ ...one, name: one.name ?? name });
const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));

function invalid(file: string, why: string, cause: unknown): CountersignError {
  return new CountersignError(
    'ERR_CONFIG_INVALID',
    `${file}: ${why}. Write { "cases": [{ "request": {…}, "expected": true }] }.`,
    { cause },
  );
}
