import { createHash } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { Webhook } from 'standardwebhooks';
import type { GatedCalls } from '../../workflows/domain/ports.ts';
import { callbackBody } from './wire/schemas.ts';

/**
 * Callbacks of the access request service. A callback is a hint to look: whatever it claims, the status is fetched before
 * anything moves. It is authenticated all the same, because hints cost work (APPR-193, ARAP callback security).
 */
export function receiveCallback(deps: {
  gatedCalls: Pick<GatedCalls, 'acceptCallback'>;
  callbackSecret: string;
  log: Logger;
}): RequestHandler {
  const webhook = new Webhook(deps.callbackSecret);

  return async (request, response) => {
    const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const webhookId = request.get('webhook-id') ?? '';
    if (!isAuthentic(webhook, raw, request.headers)) {
      deps.log.warn('a callback without a valid signature was refused');
      response.status(401).json({ error: 'the signature is not valid' });
      return;
    }
    const body = callbackBody.safeParse(parseJson(raw));
    if (!body.success) {
      response.status(400).json({ error: 'the body names no task' });
      return;
    }
    const verdict = await deps.gatedCalls.acceptCallback({
      webhookId,
      bodyDigest: `sha-256:${createHash('sha256').update(raw).digest('hex')}`,
      accessRequestId: body.data.task.id,
    });
    if (verdict === 'conflict') {
      deps.log.warn('a callback repeated the id of another one with a different body');
      response.status(409).json({ error: 'this id was used for another body' });
      return;
    }
    // The same answer for requests nobody waits for: it tells the sender nothing and stops its retries.
    response.status(204).end();
  };
}

/** Signature over the raw bytes, and not older or newer than five minutes. @see Standard Webhooks */
function isAuthentic(webhook: Webhook, raw: Buffer, headers: Record<string, string | string[] | undefined>): boolean {
  const single = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  try {
    webhook.verify(raw, Object.fromEntries(single), { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

function parseJson(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString('utf8'));
  } catch {
    return undefined;
  }
}
