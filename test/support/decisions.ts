import { Webhook } from 'standardwebhooks';
import { signedHeaders } from '../../apps/shared/http/webhook-signature.ts';

/** An access request as the approvals API lists it. */
export interface OpenRequest {
  readonly id: string;
  readonly generation: number;
  readonly callDigest: string;
}

export interface ListedRequest extends OpenRequest {
  readonly tool: string;
}

export interface WebhookDecision {
  readonly verdict: 'approve' | 'deny';
  readonly reason?: string;
  readonly agentMessage?: string;
  readonly approver?: string;
}

export async function listOpenRequests(approvalsUrl: string, token: string): Promise<ListedRequest[]> {
  const response = await fetch(`${approvalsUrl}/requests?status=pending&limit=200`, {
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
  });
  if (!response.ok) throw new Error(`the approvals API answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { requests: ListedRequest[] }).requests;
}

/** The body of a decision on exactly this request and call. */
export function decisionBody(request: OpenRequest | undefined, decision: WebhookDecision): string {
  if (request === undefined) throw new Error('there is no such request');
  return JSON.stringify({
    requestId: request.id,
    generation: request.generation,
    callDigest: request.callDigest,
    approver: { subject: decision.approver ?? 'alice' },
    verdict: decision.verdict,
    reason: decision.reason ?? 'as discussed',
    ...(decision.agentMessage !== undefined && { agentMessage: decision.agentMessage }),
  });
}

export interface Signing {
  readonly id: string;
  readonly secret: string;
  readonly at?: Date;
  /** The content to sign, when it is not the body. */
  readonly signed?: string;
}

/** Posts a body signed as Standard Webhooks requires. */
export function postSigned(
  url: string,
  body: string,
  { secret, signed = body, at = new Date(), id }: Signing,
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: signedHeaders(new Webhook(secret), { id, at, body: signed }),
    body,
  });
}
