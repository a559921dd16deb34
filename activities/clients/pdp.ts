import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Approval, EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import { readDecision } from './pdp-answer.ts';

const TIMEOUT_MS = 5_000;
/** A decision is small; a larger body is not one. */
const MAX_ANSWER_BYTES = 1024 * 1024;

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
      const { accessRequestsUrl } = options;
      const decision = readDecision(body, { withApproval: approval !== undefined, accessRequestsUrl });
      if (decision.kind === 'deny' && namesForeignEndpoint(body, accessRequestsUrl)) {
        options.log.error('a denial names a submission address that is not the configured one; it is not requestable');
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
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${options.token}`,
        'content-type': 'application/json',
        accept: 'application/json',
        'x-request-id': randomUUID(),
      },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw unavailable(`the policy decision point answered ${response.status}`);
    }
    return JSON.parse(await readText(response)) as unknown;
  } catch (cause) {
    if (cause instanceof CountersignError) throw cause;
    throw unavailable('the policy decision point gives no answer', cause);
  }
}

async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    size += part.value.byteLength;
    if (size > MAX_ANSWER_BYTES) throw unavailable('the answer of the policy decision point is too large');
    chunks.push(part.value);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function unavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_PDP_UNAVAILABLE', message, { cause });
}

function namesForeignEndpoint(body: unknown, accessRequestsUrl: string): boolean {
  const { context } = body as { context?: { access_request?: { endpoint?: unknown } | null } | null };
  const endpoint = context?.access_request?.endpoint;
  return endpoint !== undefined && endpoint !== accessRequestsUrl;
}
