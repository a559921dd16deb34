import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { type Clock, timeLimit } from '../../shared/clock.ts';
import { createGuardedAgent } from '../../shared/http/guarded-agent.ts';
import { signedHeaders } from '../../shared/http/webhook-signature.ts';
import type { Timing } from '../../shared/limits.ts';
import { ServiceFailure } from '../../shared/outbox.ts';

interface Message {
  readonly id: string;
  readonly body: string;
}
interface Sender {
  /** Standard Webhooks. */
  readonly secret: string;
  /** Non-public networks that may be called. */
  readonly networks: readonly string[];
}

interface QuestionLimits {
  /** For the complete answer. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly clock: Clock;
}

/** Posts a signed JSON message once, without following redirects, and returns the status. Rejects without a response. */
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
 * Like `createSignedPost`, but also returns the text. Rejects when the answer is late, incomplete or too long, and when `stopping`
 * aborts.
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

const ADVICE =
  "if it is correct, add its network to the client's callbackNetworks, or to networks of the notifications or the resolver";

function createSend({ secret, networks }: Sender, limits: Pick<QuestionLimits, 'clock'> & { maxAnswerBytes?: number }) {
  const webhook = new Webhook(secret);
  const guard = createGuardedAgent(networks, { maxAnswerBytes: limits.maxAnswerBytes, advice: ADVICE });
  return (endpoint: string, message: Message, signal: AbortSignal) => {
    guard.check(endpoint);
    const headers = signedHeaders(webhook, { ...message, at: new Date(limits.clock.now()) });
    const { body } = message;
    return request(endpoint, { method: 'POST', headers, body, signal, dispatcher: guard.agent });
  };
}

/** A message only makes its receiver poll earlier. After a day it no longer helps. */
const GIVE_UP_MS = 24 * 3_600_000;

/** Whether the receiver at the address `to` accepted a message that is due since `since`; false if it is given up. Throws when it has to be sent again. */
export async function isAccepted(
  posted: Promise<number>,
  { since, what, to, clock }: { since: string; what: string; to: string; clock: Clock },
): Promise<boolean> {
  const answer = await posted.catch((error: unknown) => error);
  if (typeof answer === 'number' && answer >= 200 && answer < 300) return true;
  if (answer === 410 || clock.now() - Date.parse(since) > GIVE_UP_MS) return false;
  throw new ServiceFailure(`the receiver did not accept ${what}`, [new URL(to).host], { cause: answer });
}
