import * as z from 'zod';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import {
  afterObligations,
  type Approval,
  type Decision,
  type EvaluationRequest,
  type Oblige,
} from '../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import { foreignAddressIn, obligationsIn, readDecision } from './answer.ts';
import type { DescribePdp } from './metadata.ts';
import { type Credential, type HttpAnswer, jsonIn, sendHttp, type Trust } from '../http.ts';
import type { Clock } from '../../../apps/shared/clock.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/**
 * Statuses of a PDP that has no batch API, or that refuses as a batch what it may take one by one: Cerbos wants a context that is
 * not empty in each entry.
 */
const NO_BATCH = [400, 404, 405, 501];

export interface PdpOptions extends PdpExchangeOptions {
  readonly describe: DescribePdp;
  /** The submission URL for access requests, in place of the one in the PDP's metadata. */
  readonly accessRequestsUrl: string | undefined;
  readonly trust: Pick<Trust, 'accessRequests' | 'documents'>;
  /** Carries obligations out. Default: none is carried out, and a permit that has one is a denial (OBL-07). */
  readonly oblige?: Oblige;
}

const batchBody = z.looseObject({ evaluations: z.array(z.unknown()) });

/**
 * Client of an AuthZEN policy decision point. Anything that is not a decision (no connection, no answer in time, a redirect, an
 * error status, a body that cannot be read, more or fewer decisions than requests) is `ERR_PDP_UNAVAILABLE`, never an allow.
 * @see AuthZEN Authorization API 1.0, section 10.1
 */
export function createPolicyDecisionPoint(options: PdpOptions): PolicyDecisionPoint {
  const { describe, trust, log, oblige = meetNone } = options;
  const post = createPdpExchange(options);

  /** Reads answers of a PDP that takes access requests there. */
  const reader = (named: string | undefined) => {
    const addresses = { accessRequests: options.accessRequestsUrl ?? named, trust };
    return async (body: unknown, claims: JsonObject, approval?: Approval): Promise<Decision> => {
      const decision = readDecision(body, { withApproval: approval !== undefined, ...addresses });
      const foreign = decision.kind === 'deny' ? foreignAddressIn(body, addresses) : undefined;
      if (foreign !== undefined) log.error({ alarm: 'foreign_address', ...foreign }, NOT_REQUESTABLE);
      const obligations = obligationsIn(body);
      return obligations.length === 0 ? decision : oblige({ decision, obligations, claims });
    };
  };

  const evaluate: PolicyDecisionPoint['evaluate'] = async (request, approval, claims = {}) => {
    const { evaluation, accessRequests } = await describe();
    const answer = await post(evaluation, bodyFor(request, approval));
    return reader(accessRequests)(bodyOf(answer), claims, approval);
  };

  return {
    evaluate,
    async evaluateAll(requests, claims = {}) {
      if (requests.length === 0) throw pdpUnavailable('there is no evaluation request to decide');
      const oneByOne = () => Promise.all(requests.map((request) => evaluate(request, undefined, claims)));
      const { evaluations: endpoint, accessRequests } = await describe();
      if (endpoint === undefined) return oneByOne();
      // Each entry is complete: a PDP could fill a missing member in otherwise.
      const batch = {
        evaluations: requests.map((request) => bodyFor(request)),
        options: { evaluations_semantic: 'execute_all' },
      };
      const answer = await post(endpoint, batch);
      if (NO_BATCH.includes(answer.status)) return oneByOne();
      const { evaluations } = batchBody.safeParse(bodyOf(answer)).data ?? {};
      if (evaluations?.length !== requests.length) {
        throw pdpUnavailable('the policy decision point did not answer each request');
      }
      const read = reader(accessRequests);
      return Promise.all(evaluations.map((body) => read(body, claims)));
    },
  };
}

const meetNone: Oblige = async ({ decision }) => {
  const unmet = { id: '', type: '', outcome: 'unmet' } as const;
  return afterObligations(decision, [unmet], []);
};

const NOT_REQUESTABLE =
  'a denial is not requestable, since its request would go to an address that is not trusted: if calls may be sent there, add the origin to accessRequests.trustedOrigins';

/** The request as it was captured; an approval is the one thing added to it (ARAP-REV-02, PRJ-12, PRJ-30). */
function bodyFor({ subject, action, resource, context }: EvaluationRequest, approval?: Approval): object {
  const presented = approval && { approval: approval.presented };
  return { subject, action, resource, context: { ...context, ...presented } };
}

interface PdpExchangeOptions {
  readonly credential: Credential;
  readonly log: Logger;
  readonly clock: Clock;
  /** Limit on one answer, in milliseconds. */
  readonly timeoutMs: number;
}

/** Sends requests to endpoints of a PDP. Throws `ERR_PDP_UNAVAILABLE` when no answer comes. */
export function createPdpExchange({ credential, log, clock, timeoutMs }: PdpExchangeOptions) {
  let isNoted = false;
  return async (endpoint: string, request: object): Promise<HttpAnswer> => {
    const requestId = randomUUID();
    const headers = {
      ...credential.headers,
      'content-type': 'application/json',
      accept: 'application/json',
      'x-request-id': requestId,
    };
    const body = JSON.stringify(request);
    const init = { method: 'POST', headers, body, timeoutMs, clock, via: credential.via } as const;
    const answer = await sendHttp(endpoint, init).catch((cause: unknown) => {
      throw pdpUnavailable('the policy decision point gives no answer', cause);
    });
    // A missing id only makes logs harder to compare, so it is logged once (PRJ-31).
    if (!isNoted && answer.header('x-request-id') !== requestId) {
      isNoted = true;
      log.warn('the policy decision point does not repeat X-Request-ID: its log cannot be matched with this one');
    }
    return answer;
  };
}

/** The body of a success. Throws `ERR_PDP_UNAVAILABLE` for any other answer. */
export function bodyOf(answer: HttpAnswer): unknown {
  if (answer.status !== 200) throw pdpUnavailable(`the policy decision point answered ${answer.status}`);
  try {
    return jsonIn(answer);
  } catch (cause) {
    throw pdpUnavailable('the policy decision point gave an answer that is no JSON', cause);
  }
}

function pdpUnavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_PDP_UNAVAILABLE', message, { cause });
}
