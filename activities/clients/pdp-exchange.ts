import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '../../apps/shared/clock.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { jsonOf } from '../../workflows/domain/json-answer.ts';
import type { Credential } from './credential.ts';
import { sendHttp, type HttpAnswer } from './http.ts';

export interface PdpExchangeOptions {
  readonly credential: Credential;
  readonly log: Logger;
  readonly clock: Clock;
  /** Limit on one answer, in milliseconds. */
  readonly timeoutMs: number;
}

/** Sends a question to an endpoint of a PDP. Throws `ERR_PDP_UNAVAILABLE` when no answer comes. */
export type PdpExchange = (endpoint: string, question: object) => Promise<HttpAnswer>;

export function createPdpExchange({ credential, log, clock, timeoutMs }: PdpExchangeOptions): PdpExchange {
  let isNoted = false;
  return async (endpoint, question) => {
    const requestId = randomUUID();
    const headers = {
      ...credential.headers,
      'content-type': 'application/json',
      accept: 'application/json',
      'x-request-id': requestId,
    };
    const body = JSON.stringify(question);
    const init = { method: 'POST', headers, body, timeoutMs, clock, via: credential.via } as const;
    const answer = await sendHttp(endpoint, init).catch((cause: unknown) => {
      throw pdpUnavailable('the policy decision point gives no answer', cause);
    });
    // A nuisance to whoever compares logs, and no more; so it is said once (PRJ-31).
    if (!isNoted && answer.header('x-request-id') !== requestId) {
      isNoted = true;
      log.warn('the policy decision point does not repeat X-Request-ID: its log cannot be matched with this one by it');
    }
    return answer;
  };
}

/** The body of a success. Whatever else came is no answer: `ERR_PDP_UNAVAILABLE`. */
export function bodyOf(answer: HttpAnswer): unknown {
  if (answer.status !== 200) throw pdpUnavailable(`the policy decision point answered ${answer.status}`);
  try {
    return jsonOf({ type: answer.header('content-type'), text: answer.text });
  } catch (cause) {
    throw pdpUnavailable('the policy decision point gave an answer that is no JSON', cause);
  }
}

export function pdpUnavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_PDP_UNAVAILABLE', message, { cause });
}
