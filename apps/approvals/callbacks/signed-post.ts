import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { signedHeaders } from '../../shared/http/webhook-signature.ts';
import { createGuardedAgent } from './guarded-agent.ts';

const TIMEOUT_MS = 15_000;

/** Posts a JSON message once, signed, follows no redirect, and answers the status. Rejects when there is none. */
export type SignedPost = (endpoint: string, message: { id: string; body: string }) => Promise<number>;

/** `secret`: Standard Webhooks. `networks`: what is not public and may be called all the same. */
export function createSignedPost({ secret, networks }: { secret: string; networks: readonly string[] }): SignedPost {
  const webhook = new Webhook(secret);
  const guard = createGuardedAgent(networks);
  return async (endpoint, message) => {
    guard.check(endpoint);
    const headers = signedHeaders(webhook, message);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { body } = message;
    const answer = await request(endpoint, { method: 'POST', headers, body, signal, dispatcher: guard.agent });
    await answer.body.dump();
    return answer.statusCode;
  };
}

/** A message only makes its receiver look earlier. After a day it has looked by itself, or it no longer helps. */
const GIVE_UP_MS = 24 * 3_600_000;

/** Whether a message, due since that instant, is done with: it was taken, or is given up. Throws when it has to be sent again. */
export async function isTaken(
  posted: Promise<number>,
  { since, what }: { since: string; what: string },
): Promise<boolean> {
  const answer = await posted.catch((error: unknown) => error);
  if (typeof answer === 'number' && answer >= 200 && answer < 300) return true;
  if (answer === 410 || Date.now() - Date.parse(since) > GIVE_UP_MS) return false;
  throw new Error(`the receiver did not take ${what}`, { cause: answer });
}
