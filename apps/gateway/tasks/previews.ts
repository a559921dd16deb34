import type { RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { Webhook } from 'standardwebhooks';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import { previewMember, recordedPreview } from '../../../workflows/domain/tools/preview.ts';
import { sha256 } from '../../shared/crypto.ts';
import { createRateLimit } from '../../shared/http/address-limit.ts';
import { bodyFaultOf, parseFaithful } from '../../shared/http/faithful-json.ts';
import { readSignedMessage } from '../../shared/http/webhook-signature.ts';
import type { Previews } from '../extensions/previews.ts';
import { previewQuestion } from '../wire/schemas.ts';

export interface PreviewQuestionDeps {
  readonly gatedCalls: Pick<GatedCalls, 'waitingCall' | 'addPreview'>;
  readonly previews: Pick<Previews, 'takeAgain'>;
  readonly callbackSecret: string;
  readonly log: Logger;
}

/** Approvers of one call together. */
const AT_MOST = { count: 1, seconds: 10 };

/**
 * Takes the preview of a waiting call again, because an approver asks, and answers it to the access request service. It goes on record
 * first, so approvers see no preview that the record does not have. A preview that could not be taken changes nothing. An unknown request,
 * one that is over and a message that came before get one answer.
 */
export function answerPreviewQuestions(deps: PreviewQuestionDeps): RequestHandler {
  const { gatedCalls, previews, callbackSecret, log } = deps;
  const webhook = new Webhook(callbackSecret);
  const rate = createRateLimit(AT_MOST);
  return async (request, response) => {
    const message = readSignedMessage(webhook, request.body, request.headers);
    if ('fault' in message) {
      log.warn(`a question for a preview was refused: ${message.fault}`);
      return refuse(response, 401, message.fault);
    }
    const accessRequestId = requestIn(message.text);
    if (typeof accessRequestId !== 'string') return refuse(response, 400, accessRequestId.fault);
    const bodyDigest = `sha-256:${sha256(message.text)}`;
    const call = await gatedCalls.waitingCall({ webhookId: message.webhookId, bodyDigest, accessRequestId });
    if (call === undefined) return refuse(response, 404, 'no call waits for a decision on this request');
    const waitMs = await rate.take(call.gatedCallId);
    if (waitMs !== undefined) {
      response.setHeader('retry-after', Math.max(1, Math.ceil(waitMs / 1_000)));
      return refuse(response, 429, 'a preview of this call was taken a moment ago');
    }
    const preview = await previews.takeAgain(call.binding, goneSignal(response));
    if (preview === undefined) return refuse(response, 409, 'the tool of this call has no preview any more');
    if (preview.fault !== undefined) return void response.json({ fault: preview.fault });
    const outcome = await gatedCalls.addPreview(call, recordedPreview(preview));
    if (outcome !== 'kept') return refuse(response, 409, REFUSALS[outcome]);
    response.json({ preview: previewMember(preview) });
  };
}

const REFUSALS = {
  over: 'the call no longer waits for a decision',
  full: 'this call has as many previews as a call can have',
  taken: 'another preview of this call was taken at this moment',
} as const;

const refuse = (response: Response, status: number, error: string): void =>
  void response.status(status).json({ error });

/** The access request that the question is about, or the fault of the body in words. */
function requestIn(text: string): string | { readonly fault: string } {
  try {
    const body = previewQuestion.safeParse(parseFaithful(text));
    return body.success ? body.data.task.id : { fault: 'the body does not name a task and nothing else' };
  } catch (error) {
    return { fault: bodyFaultOf(error)?.message ?? 'the body cannot be read' };
  }
}

/** Fires when the asker leaves before its answer. */
function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
