import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { Webhook } from 'standardwebhooks';
import type * as z from 'zod';
import type { GatedCalls } from '../../../workflows/domain/ports.ts';
import { bodyFaultOf, parseFaithful } from '../../shared/http/faithful-json.ts';
import { readSignedMessage } from '../../shared/http/webhook-signature.ts';
import { sha256 } from '../../shared/crypto.ts';
import { callbackBody } from '../wire/schemas.ts';

/**
 * Callbacks of the access request service. A callback is a hint: the worker fetches the status, and ignores the status that the callback
 * claims. It is authenticated because hints cost work (APPR-193, ARAP callback security).
 */
export function receiveCallback(deps: {
  gatedCalls: Pick<GatedCalls, 'acceptCallback'>;
  callbackSecret: string;
  log: Logger;
}): RequestHandler {
  const webhook = new Webhook(deps.callbackSecret);

  return async (request, response) => {
    const message = readSignedMessage(webhook, request.body, request.headers);
    if ('fault' in message) {
      deps.log.warn(`a callback was refused: ${message.fault}`);
      response.status(401).json({ error: message.fault });
      return;
    }
    const body = read(message.text);
    if (typeof body === 'string') {
      response.status(400).json({ error: body });
      return;
    }
    const verdict = await deps.gatedCalls.acceptCallback({
      webhookId: message.webhookId,
      bodyDigest: `sha-256:${sha256(message.text)}`,
      accessRequestId: body.task.id,
    });
    if (verdict === 'conflict') {
      deps.log.warn('a callback repeated the id of another one with a different body');
      response.status(409).json({ error: 'this id was used for another body' });
      return;
    }
    // An unknown request gets the same answer, which reveals nothing to the sender and stops its retries.
    response.status(204).end();
  };
}

/** The body, or its fault in words. */
function read(text: string): z.infer<typeof callbackBody> | string {
  try {
    const body = callbackBody.safeParse(parseFaithful(text));
    return body.success ? body.data : 'the body names no task';
  } catch (error) {
    return bodyFaultOf(error)?.message ?? 'the body cannot be read';
  }
}
