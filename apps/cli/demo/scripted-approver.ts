import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import * as z from 'zod';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import { systemClock } from '../../shared/clock.ts';
import { until } from '../../shared/embedded/process-tools.ts';
import { signedHeaders } from '../../shared/http/webhook-signature.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { Api } from '../api.ts';
import { CliError } from '../context.ts';

const openRequests = z.object({
  requests: z.array(z.looseObject({ id: z.string(), generation: z.number(), callDigest: z.string() })),
});

/** A tool with the complete arguments of a call. */
export interface ExactCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

interface Approver {
  /** The approvals API for an approver. */
  readonly inbox: Api;
  readonly approver: string;
  readonly webhookUrl: string;
  /** Signs decisions (`whsec_…`). */
  readonly secret: string;
}

/**
 * Waits for the open request of exactly this call, and approves it by the signed webhook, as a ticket system or a chat bot would. Other
 * open requests stay unchanged.
 */
export async function approveByWebhook(
  { inbox, approver, webhookUrl, secret }: Approver,
  call: ExactCall,
): Promise<void> {
  const digest = callDigest(call, sha256);
  const find = async () => {
    const { requests } = await inbox.get('/requests?status=pending&order=newest&limit=200', openRequests);
    return requests.find((one) => one.callDigest === digest);
  };
  const request = await until(find, { withinMs: 30_000, everyMs: 200 });
  if (request === undefined)
    throw new CliError(`no request arrived for this call of ${call.tool}; see \`countersign requests list\``);
  const body = JSON.stringify({
    requestId: request.id,
    generation: request.generation,
    callDigest: request.callDigest,
    approver: { subject: approver },
    verdict: 'approve',
    reason: 'Approved by the demonstration',
  });
  const response = await fetch(webhookUrl, {
    method: 'POST',
    headers: signedHeaders(new Webhook(secret), { id: `msg_${randomUUID()}`, body, at: new Date(systemClock.now()) }),
    body,
  });
  if (response.ok) return;
  throw new CliError(
    `the decision webhook answered ${response.status}: ${await response.text()}; read the log of the inbox`,
  );
}
