import * as z from 'zod';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { InputRequest } from '../../../workflows/domain/relay.ts';
import { INPUT_METHODS, TASKS_EXTENSION } from './identifiers.ts';

/** Declared or not; settings of capabilities have no meaning here. */
const declared = z
  .looseObject({})
  .transform(() => ({}))
  .optional();

/** Capabilities that an upstream's requests and tasks need, and that we hand on. All others are between a client and us. */
const relayed = z.object({
  elicitation: z.object({ form: declared, url: declared }).optional(),
  sampling: z.object({ tools: declared, context: declared }).optional(),
  roots: declared,
  extensions: z.object({ [TASKS_EXTENSION]: declared }).optional(),
});

/** Of the capabilities that a request declares, or that an upstream demands, those that are handed on. */
export function relayedCapabilities(of: unknown): JsonObject {
  return (relayed.safeParse(of).data ?? {}) as JsonObject;
}

export const FORMS: JsonObject = { elicitation: { form: {} } };
export const TASKS: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };

/** The part of these capabilities that is not declared; `undefined` when all of it is. */
export function undeclared(needed: JsonObject, has: JsonObject): JsonObject | undefined {
  const missing = Object.entries(needed).flatMap(([name, of]) => {
    const there = has[name] as JsonObject | undefined;
    if (there === undefined) return [[name, of] as const];
    // Without a mode, forms are what is meant. @see elicitation, capabilities
    const meant = name === 'elicitation' && Object.keys(there).length === 0 ? { form: {} } : there;
    const inner = undeclared(of as JsonObject, meant);
    return inner === undefined ? [] : [[name, inner] as const];
  });
  return missing.length > 0 ? Object.fromEntries(missing) : undefined;
}

/** What the first of these requests needs that is not declared. No client is asked in a way that it does not know (MRTR-005). */
export function undeclaredIn(requests: Readonly<Record<string, InputRequest>> = {}, has: JsonObject) {
  for (const request of Object.values(requests)) {
    const missing = undeclared(neededFor(request), has);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

function neededFor({ method, params }: InputRequest): JsonObject {
  const { mode, tools, toolChoice } = (params ?? {}) as JsonObject;
  if (method === INPUT_METHODS.elicitation) return mode === 'url' ? { elicitation: { url: {} } } : FORMS;
  if (method === INPUT_METHODS.roots) return { roots: {} };
  return { sampling: tools === undefined && toolChoice === undefined ? {} : { tools: {} } };
}
