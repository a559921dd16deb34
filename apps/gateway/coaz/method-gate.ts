import { ProtocolError, type AuthInfo } from '@modelcontextprotocol/server';
import { objectOf, type Json } from '../../../workflows/domain/canonical-json.ts';
import { callerOf, claimsOf } from '../caller.ts';
import type { Guarded } from '../guard.ts';
import { refusal } from '../wire/refusal.ts';
import { passesThrough } from './default-mappings.ts';
import type { Authorize } from './authorize.ts';

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
      const refused = await refusalOf(() =>
        deps.guarded(method, () => deps.authorize(sender, method, objectOf(params)), 'request'),
      );
      if (refused !== undefined) return refusal(id, refused);
    }
    return undefined;
  };
}

async function refusalOf(run: () => Promise<void>): Promise<ProtocolError | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
}
