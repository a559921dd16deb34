import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Approval, EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import { sendHttp } from './http.ts';
import { isOurs, readDecision } from './pdp-answer.ts';

const TIMEOUT_MS = 5_000;

/** Where AuthZEN puts the evaluation endpoint below a PDP's address. */
export const EVALUATION_PATH = '/access/v1/evaluation';

export interface PdpOptions {
  /** Address of the PDP; the evaluation endpoint is the one that AuthZEN names below it. */
  readonly pdpUrl: string;
  readonly token: string;
  /** The only submission address that an offer may name. */
  readonly accessRequestsUrl: string;
  readonly log: Logger;
  /** Limit on one answer. Default: 5 s. */
  readonly timeoutMs?: number;
}

/**
 * Client of an AuthZEN policy decision point. Whatever is not a decision (no connection, no answer in time, a redirect, an
 * error status, a body that cannot be read) is `ERR_PDP_UNAVAILABLE`, never an allow.
 * @see AuthZEN Authorization API 1.0, section 10.1
 */
export function createPolicyDecisionPoint(options: PdpOptions): PolicyDecisionPoint {
  const endpoint = options.pdpUrl + EVALUATION_PATH;
  return {
    async evaluate(request, approval) {
      const body = await ask(endpoint, options, bodyOf(request, approval));
      const { accessRequestsUrl, pdpUrl } = options;
      const decision = readDecision(body, { withApproval: approval !== undefined, accessRequestsUrl, pdpUrl });
      if (decision.kind === 'deny' && namesForeignAddress(body, options)) {
        options.log.error('a denial names an address that is none of the configured ones; it is not requestable');
      }
      return decision;
    },
  };
}

/** The request as it was captured; an approval is the one thing added to it (ARAP-REV-02, PRJ-12). */
function bodyOf(request: EvaluationRequest, approval?: Approval): string {
  const { subject, action, resource, context } = request;
  if (approval === undefined) return JSON.stringify({ subject, action, resource, context });
  const presented = {
    id: approval.id,
    approved_at: approval.approvedAt,
    approved_until: approval.approvedUntil,
    state: approval.state,
  };
  return JSON.stringify({ subject, action, resource, context: { ...context, approval: presented } });
}

async function ask(endpoint: string, options: PdpOptions, body: string): Promise<unknown> {
  try {
    const answer = await sendHttp(endpoint, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${options.token}`,
        'content-type': 'application/json',
        accept: 'application/json',
        'x-request-id': randomUUID(),
      },
      body,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    });
    if (answer.status !== 200) throw unavailable(`the policy decision point answered ${answer.status}`);
    return JSON.parse(answer.text) as unknown;
  } catch (cause) {
    if (cause instanceof CountersignError) throw cause;
    throw unavailable('the policy decision point gives no answer', cause);
  }
}

function unavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_PDP_UNAVAILABLE', message, { cause });
}

function namesForeignAddress(body: unknown, { accessRequestsUrl, pdpUrl }: PdpOptions): boolean {
  const { context } = body as { context?: { access_request?: Record<string, unknown> | null } | null };
  const { endpoint = accessRequestsUrl, request_schema_url: schema = pdpUrl } = context?.access_request ?? {};
  return endpoint !== accessRequestsUrl || typeof schema !== 'string' || !isOurs(schema, [accessRequestsUrl, pdpUrl]);
}
