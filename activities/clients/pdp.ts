import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import * as z from 'zod';
import type { Approval, Decision, EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { afterObligations, type Oblige } from '../../workflows/domain/authzen/obligations.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import { sendHttp, type HttpAnswer } from './http.ts';
import { jsonOf } from './json-answer.ts';
import { isOurs, obligationsIn, readDecision } from './pdp-answer.ts';

const TIMEOUT_MS = 5_000;

/** Where AuthZEN puts its endpoints below a PDP's address. */
export const EVALUATION_PATH = '/access/v1/evaluation';
export const EVALUATIONS_PATH = '/access/v1/evaluations';

/** Statuses with which a PDP says that it has no batch API. */
const NO_BATCH = [404, 405, 501];

export interface PdpOptions {
  /** Address of the PDP; its endpoints are those that AuthZEN names below it. */
  readonly pdpUrl: string;
  readonly token: string;
  /** The only submission address that an offer may name. */
  readonly accessRequestsUrl: string;
  /** What carries obligations out. Default: none is, and a permit that has one is a denial (OBL-07). */
  readonly oblige?: Oblige;
  readonly log: Logger;
  /** Limit on one answer. Default: 5 s. */
  readonly timeoutMs?: number;
}

const batchBody = z.looseObject({ evaluations: z.array(z.unknown()) });

/**
 * Client of an AuthZEN policy decision point. Whatever is not a decision (no connection, no answer in time, a redirect, an
 * error status, a body that cannot be read, more or fewer decisions than questions) is `ERR_PDP_UNAVAILABLE`, never an allow.
 * @see AuthZEN Authorization API 1.0, section 10.1
 */
export function createPolicyDecisionPoint(options: PdpOptions): PolicyDecisionPoint {
  const { accessRequestsUrl, pdpUrl, oblige = meetNone } = options;

  async function read(body: unknown, claims: JsonObject, approval?: Approval): Promise<Decision> {
    const decision = readDecision(body, { withApproval: approval !== undefined, accessRequestsUrl, pdpUrl });
    if (decision.kind === 'deny' && namesForeignAddress(body, options)) {
      options.log.error('a denial names an address that is none of the configured ones; it is not requestable');
    }
    return oblige({ decision, obligations: obligationsIn(body), claims });
  }

  const evaluate: PolicyDecisionPoint['evaluate'] = async (request, approval, claims = {}) => {
    const answer = await post(pdpUrl + EVALUATION_PATH, options, questionOf(request, approval));
    return read(bodyOf(answer), claims, approval);
  };

  return {
    evaluate,
    async evaluateAll(requests, claims = {}) {
      if (requests.length === 0) throw unavailable('no question was put to the policy decision point');
      // Each entry says all of it: what the PDP would have to fill in, it could fill in otherwise.
      const question = {
        evaluations: requests.map((request) => questionOf(request)),
        options: { evaluations_semantic: 'execute_all' },
      };
      const answer = await post(pdpUrl + EVALUATIONS_PATH, options, question);
      if (NO_BATCH.includes(answer.status)) {
        return Promise.all(requests.map((request) => evaluate(request, undefined, claims)));
      }
      const { evaluations } = batchBody.safeParse(bodyOf(answer)).data ?? {};
      if (evaluations?.length !== requests.length) {
        throw unavailable('the policy decision point did not answer each of the questions');
      }
      return Promise.all(evaluations.map((body) => read(body, claims)));
    },
  };
}

const meetNone: Oblige = async ({ decision, obligations }) => {
  if (obligations.length === 0) return decision;
  const unmet = { id: '', type: '', outcome: 'unmet' } as const;
  return afterObligations(decision, [unmet], []);
};

/** The request as it was captured; an approval is the one thing added to it (ARAP-REV-02, PRJ-12). */
function questionOf({ subject, action, resource, context }: EvaluationRequest, approval?: Approval): object {
  if (approval === undefined) return { subject, action, resource, context };
  const presented = {
    id: approval.id,
    approved_at: approval.approvedAt,
    approved_until: approval.approvedUntil,
    state: approval.state,
  };
  return { subject, action, resource, context: { ...context, approval: presented } };
}

async function post(endpoint: string, options: PdpOptions, question: object): Promise<HttpAnswer> {
  try {
    return await sendHttp(endpoint, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${options.token}`,
        'content-type': 'application/json',
        accept: 'application/json',
        'x-request-id': randomUUID(),
      },
      body: JSON.stringify(question),
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    });
  } catch (cause) {
    throw unavailable('the policy decision point gives no answer', cause);
  }
}

function bodyOf(answer: HttpAnswer): unknown {
  if (answer.status !== 200) throw unavailable(`the policy decision point answered ${answer.status}`);
  try {
    return jsonOf(answer);
  } catch (cause) {
    throw unavailable('the policy decision point gave an answer that is no JSON', cause);
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
