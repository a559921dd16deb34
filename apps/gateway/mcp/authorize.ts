import { ProtocolError, type AuthInfo } from '@modelcontextprotocol/server';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { type JsonObject, objectOf, type Json } from '../../../workflows/domain/canonical-json.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type { Questions, Sender } from '../calls/evaluation-requests.ts';
import { callerOf, claimsOf } from './authentication.ts';
import { type Guarded, errorResponse } from '../wire/errors.ts';
import { passesThrough } from './default-mappings.ts';

/**
 * Asks about one message of any method but `tools/call`. Resolves when it is allowed, and throws when it is not: `ERR_READ_DENIED`
 * also for a method without a mapping, which is never an implicit decision (COAZ-FW-18, COAZ-DF-16).
 */
export type Authorize = (sender: Sender, method: string, params: JsonObject) => Promise<void>;

export function createAuthorize({
  pdp,
  questions,
}: {
  readonly pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  readonly questions: Pick<Questions, 'ofRequest'>;
}): Authorize {
  return async (sender, method, params) => {
    const question = questions.ofRequest(sender, method, params);
    if (question === undefined) throw new CountersignError('ERR_READ_DENIED', 'no mapping says what it would be');
    const decision = await pdp.evaluate(question, undefined, sender.claims);
    if (decision.kind === 'deny' && decision.unmet?.stepUps) {
      throw new CountersignError('ERR_STEP_UP_NEEDED', 'policy demands a stronger sign-in for this request');
    }
    if (decision.kind !== 'allow') throw new CountersignError('ERR_READ_DENIED', 'policy does not allow this request');
  };
}

/** Looks at messages before the protocol layer does, and answers in its place what is not allowed. */
export type MethodGate = (asked: unknown, auth: AuthInfo | undefined) => Promise<Response | undefined>;

/** Decided on where it is known what they are about: tools and what else upstreams have; tasks, after it is certain whose they are (PRJ-21). */
const DECIDED_ON_LATER: readonly string[] = [
  ...['tools/call', 'prompts/get', 'resources/read', 'completion/complete'],
  ...['tasks/get', 'tasks/update', 'tasks/cancel'],
];

/** Asks about every request whose method is not decided on later, known or unknown. @see COAZ, PEP Behavior (COAZ-PP-01) */
export function createMethodGate(deps: {
  readonly authorize: Authorize;
  readonly guarded: Guarded;
  /** Whether `initialize` is not asked about (PRJ-19). */
  readonly initializePasses: boolean;
}): MethodGate {
  const isLeft = (method: string) =>
    passesThrough(method) || DECIDED_ON_LATER.includes(method) || (deps.initializePasses && method === 'initialize');
  return async (asked, auth) => {
    const messages: readonly unknown[] = Array.isArray(asked) ? asked : [asked];
    for (const message of messages) {
      const { id, method, params } = objectOf((message ?? null) as Json);
      // Whatever else is no request: the protocol layer says so, and does nothing with it.
      if (typeof method !== 'string' || (typeof id !== 'string' && typeof id !== 'number') || isLeft(method)) continue;
      const sender = { caller: callerOf(auth), claims: claimsOf(auth) };
      const refused = await errorOf(() =>
        deps.guarded(method, () => deps.authorize(sender, method, objectOf(params)), 'request'),
      );
      if (refused !== undefined) return errorResponse(id, refused);
    }
    return undefined;
  };
}

async function errorOf(run: () => Promise<void>): Promise<ProtocolError | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
}
