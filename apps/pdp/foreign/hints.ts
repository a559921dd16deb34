import * as z from 'zod';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { isSameJson } from '../../../workflows/domain/authzen/denial-binding.ts';
import type { Requestable } from '../cedar/requestable.ts';

/** What of a denial by somebody else's PDP stands for "ask for an approval", as it was agreed with whoever writes its policies. */
export interface Hint {
  /** The denial's `context.reason`. */
  readonly reason?: string | undefined;
  /** What a rule of Cerbos puts out: this very value, or an object that has these members. */
  readonly output?: Json | undefined;
  /** Template of the access request that would cure the denial. */
  readonly template: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

const reasonContext = z.looseObject({ reason: z.string() });
const cerbosContext = z.looseObject({
  'cerbos.response': z.looseObject({
    results: z.array(z.looseObject({ outputs: z.array(z.looseObject({ val: z.json() })).optional() })),
  }),
});

/** Codes, and no sentences: they are told to whoever called (ARAP-DEN-19). */
const CODE = /^[A-Za-z0-9_.:-]{1,64}$/;

/** The reason of a denial, where it is one for programs. */
export function reasonOf(context: unknown): string | undefined {
  const reason = reasonContext.safeParse(context).data?.reason;
  return reason !== undefined && CODE.test(reason) ? reason : undefined;
}

/** What a denial with this context offers: by the first hint that it has. Nothing that was not agreed makes one requestable. */
export function offerOf(context: unknown, hints: readonly Hint[]): Requestable | undefined {
  const outputs = outputsOf(context);
  const reason = reasonOf(context);
  const hint = hints.find((one) =>
    one.output === undefined ? one.reason === reason : outputs.some((value) => isPartOf(one.output as Json, value)),
  );
  return (
    hint && {
      kind: 'requestable',
      template: hint.template,
      reason: reason ?? 'approval_required',
      ...(hint.title !== undefined && { title: hint.title }),
      ...(hint.description !== undefined && { description: hint.description }),
      policies: [],
    }
  );
}

function outputsOf(context: unknown): readonly Json[] {
  const { results } = cerbosContext.safeParse(context).data?.['cerbos.response'] ?? { results: [] };
  return results.flatMap(({ outputs = [] }) => outputs.map(({ val }) => val as Json));
}

function isPartOf(expected: Json, value: Json): boolean {
  if (!isObject(expected) || !isObject(value)) return isSameJson(expected, value);
  return Object.entries(expected).every(
    ([name, member]) => Object.hasOwn(value, name) && isSameJson(member, value[name] as Json),
  );
}

const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
