import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { timeLimit, type Clock } from '../../shared/clock.ts';
import { signedHeaders } from '../../shared/http/webhook-signature.ts';
import type { Timing } from '../../shared/limits.ts';
import { createGuardedAgent } from './guarded-agent.ts';

interface Message {
  readonly id: string;
  readonly body: string;
}
interface Sender {
  /** Standard Webhooks. */
  readonly secret: string;
  /** What is not public and may be called all the same. */
  readonly networks: readonly string[];
}

interface QuestionLimits {
  /** For the whole answer. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly clock: Clock;
}

/** Posts a JSON message once, signed, follows no redirect, and answers the status. Rejects when there is none. */
export type SignedPost = (endpoint: string, message: Message) => Promise<number>;

export function createSignedPost(sender: Sender, { clock, limits }: Timing): SignedPost {
  const send = createSend(sender, { clock });
  return async (endpoint, message) => {
    const answer = await send(endpoint, message, clock.signalAfter(limits.webhookMs));
    await answer.body.dump();
    return answer.statusCode;
  };
}

/**
 * As `createSignedPost`, and answers the text as well. Rejects when it is not there, whole, in time, or is longer than is said; and
 * when `stopping` aborts.
 */
export function createSignedQuestion(sender: Sender, limits: QuestionLimits) {
  const send = createSend(sender, limits);
  return async (
    endpoint: string,
    message: Message,
    stopping: AbortSignal,
  ): Promise<{ status: number; type: string | undefined; text: string }> => {
    const { signal, end } = timeLimit(limits.clock, limits.timeoutMs, stopping);
    try {
      const { statusCode, headers, body } = await send(endpoint, message, signal);
      return { status: statusCode, type: headers['content-type']?.toString(), text: await body.text() };
    } finally {
      end();
    }
  };
}

function createSend({ secret, networks }: Sender, limits: Pick<QuestionLimits, 'clock'> & { maxAnswerBytes?: number }) {
  const webhook = new Webhook(secret);
  const guard = createGuardedAgent(networks, { maxAnswerBytes: limits.maxAnswerBytes });
  return (endpoint: string, message: Message, signal: AbortSignal) => {
    guard.check(endpoint);
    const headers = signedHeaders(webhook, { ...message, at: new Date(limits.clock.now()) });
    const { body } = message;
    return request(endpoint, { method: 'POST', headers, body, signal, dispatcher: guard.agent });
  };
}

/** A message only makes its receiver look earlier. After a day it has looked by itself, or it no longer helps. */
const GIVE_UP_MS = 24 * 3_600_000;

/** Whether a message, due since that instant, is done with: it was taken, or is given up. Throws when it has to be sent again. */
export async function isTaken(
  posted: Promise<number>,
  { since, what, clock }: { since: string; what: string; clock: Clock },
): Promise<boolean> {
  const answer = await posted.catch((error: unknown) => error);
  if (typeof answer === 'number' && answer >= 200 && answer < 300) return true;
  if (answer === 410 || clock.now() - Date.parse(since) > GIVE_UP_MS) return false;
  throw new Error(`the receiver did not take ${what}`, { cause: answer });
}
