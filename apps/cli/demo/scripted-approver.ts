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

const LOOK_MS = 200;
const PATIENCE_MS = 30_000;

const openRequests = z.object({
  requests: z.array(z.looseObject({ id: z.string(), generation: z.number(), callDigest: z.string() })),
});

/** A tool with the complete arguments it is called with. */
export interface ExactCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** A program that approves what it was told to expect, as a ticket system or a chat bot would: by the signed webhook. */
export interface ScriptedApprover {
  /** Waits for the open request for exactly this call and approves it; whatever else is open stays as it is. */
  approve(expected: ExactCall): Promise<void>;
}

/** `inbox`: the approvals API as an approver. `secret`: what decisions are signed with (`whsec_…`). */
export function createScriptedApprover(options: {
  inbox: Api;
  approver: string;
  webhookUrl: string;
  secret: string;
}): ScriptedApprover {
  return {
    async approve(expected) {
      const digest = callDigest(expected, sha256);
      const look = async () => {
        const { requests } = await options.inbox.get('/requests?status=pending&order=newest&limit=200', openRequests);
        return requests.find((one) => one.callDigest === digest);
      };
      const request = await until(look, { withinMs: PATIENCE_MS, everyMs: LOOK_MS });
      if (request === undefined) {
        throw new CliError(`no request for this call of ${expected.tool} came up; look at the inbox`);
      }
      await decide(options, request);
    },
  };
}

async function decide(
  { webhookUrl, secret, approver }: { webhookUrl: string; secret: string; approver: string },
  request: { id: string; generation: number; callDigest: string },
): Promise<void> {
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
  if (!response.ok) throw new CliError(`the decision webhook answered ${response.status}: ${await response.text()}`);
}
