import { randomUUID } from 'node:crypto';
import type { Approval, Decision } from '../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { AccessRequestService, PolicyDecisionPoint, ResolutionStatus } from '../../workflows/domain/ports.ts';
import type { InvocationResult, Upstreams } from '../../workflows/domain/upstream-ports.ts';
import type { Arrival } from '../invariants/invariant.ts';
import { arrivalOf } from '../support/arrivals.ts';
import { anApproval } from '../support/gated-calls.ts';
import { TOOL } from '../support/steps.ts';
import type { Chance } from './chance.ts';
import type { Fiber } from './scheduler.ts';

interface KnownRequest {
  readonly id: string;
  readonly body: string;
  status: 'open' | 'granted' | 'denied' | 'cancelled';
  readonly approval: Approval;
}

/** How well-behaved the world is: the probability of each deviation from the plain way. */
export interface Temper {
  /** A port call fails, or its caller dies. */
  readonly fault: number;
  /** The policy answers something other than "allow". */
  readonly otherDecision: number;
  /** A tool fails, cannot be reached, or answers late or never. */
  readonly otherInvocation: number;
}

/** The policy decision point, the access request service and the tools, with their observations. */
export interface Outside {
  readonly arrivals: Arrival[];
  readonly requests: Map<string, KnownRequest>;
  /** Events that must not have happened, seen from outside. */
  readonly findings: string[];
  /** An approver decides on one of the open requests. */
  decide(verdict: 'granted' | 'denied'): void;
  /** Everything works from now on. */
  calmDown(): void;
  pdp(fiber: Fiber): Pick<PolicyDecisionPoint, 'evaluate'>;
  accessRequests(fiber: Fiber): AccessRequestService;
  upstreams(fiber: Fiber): Upstreams;
}

export function createOutside(chance: Chance, temper: Temper): Outside {
  const arrivals: Arrival[] = [];
  const requests = new Map<string, KnownRequest>();
  const findings: string[] = [];
  let isCalm = false;
  const grants = () => [...requests.values()].filter(({ status }) => status === 'granted').length;
  const byId = (id: string) => [...requests.values()].find((request) => request.id === id);

  function accessRequests(fiber: Fiber): AccessRequestService {
    const failure = 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE';
    return {
      submit: ({ idempotencyKey, body }) =>
        fiber.step('submit', async () => submitted(requests, findings, { idempotencyKey, body }), failure),
      read: ({ accessRequestId }) =>
        fiber.step('read the status', async () => statusOf(byId(accessRequestId)), failure),
      stated: async (_handle, { kind }) => ({
        ...{ kind: 'stated', status: kind === 'granted' ? 'approved' : kind, votes: [] },
      }),
      cancel: ({ accessRequestId }) =>
        fiber.step(
          'cancel the request',
          async () => {
            const request = byId(accessRequestId);
            if (request?.status === 'open') request.status = 'cancelled';
          },
          failure,
        ),
    };
  }

  return {
    arrivals,
    requests,
    findings,
    decide(verdict) {
      const open = [...requests.values()].filter(({ status }) => status === 'open');
      if (open.length > 0) chance.oneOf(open).status = verdict;
    },
    calmDown() {
      isCalm = true;
    },
    accessRequests,
    pdp: (fiber) => ({
      evaluate: () =>
        fiber.step(
          'ask the policy',
          async () => decisionOf(chance, isCalm ? 0 : temper.otherDecision),
          'ERR_PDP_UNAVAILABLE',
        ),
    }),
    upstreams: (fiber) => ({
      tools: async () => [TOOL],
      find: () => fiber.step('look at the tool', async () => TOOL, 'ERR_UPSTREAM_UNAVAILABLE'),
      call: (call) =>
        invoke(fiber, { call, arrivals, chance, findings, grants, oddity: isCalm ? 0 : temper.otherInvocation }),
    }),
  };
}

function submitted(
  requests: Map<string, KnownRequest>,
  findings: string[],
  { idempotencyKey, body }: { idempotencyKey: string; body: string },
) {
  const known = requests.get(idempotencyKey);
  if (known !== undefined && known.body !== body) findings.push('one key was submitted with two bodies');
  const request = known ?? { id: `arq_${randomUUID()}`, body, status: 'open' as const, approval: anApproval() };
  requests.set(idempotencyKey, request);
  const at = (what: string) => `http://127.0.0.1:1/${what}/${request.id}`;
  return { accessRequestId: request.id, statusEndpoint: at('status'), cancelEndpoint: at('cancel') };
}

function statusOf(request: KnownRequest | undefined): ResolutionStatus {
  if (request === undefined) throw new CountersignError('ERR_ACCESS_REQUEST_NOT_FOUND', 'no such request');
  if (request.status === 'open') return { kind: 'pending' };
  return request.status === 'granted' ? { kind: 'granted', approval: request.approval } : { kind: request.status };
}

function decisionOf(chance: Chance, oddity: number): Decision {
  if (!chance.happens(oddity)) return { kind: 'allow' };
  return chance.weighted<Decision>([
    [
      3,
      {
        kind: 'requestable',
        offer: { endpoint: 'https://ars.test/requests', expiresAt: new Date(Date.now() + 600_000).toISOString() },
      },
    ],
    [2, { kind: 'retry' }],
    [2, { kind: 'deny' }],
  ]);
}

interface Invocation {
  readonly call: Parameters<Upstreams['call']>[0];
  readonly arrivals: Arrival[];
  readonly chance: Chance;
  readonly oddity: number;
  readonly findings: string[];
  /** Requests that were granted so far. */
  readonly grants: () => number;
}

/** The call is sent, and answered later: in between, anything may happen to the waiting caller. */
async function invoke(
  fiber: Fiber,
  { call, arrivals, chance, oddity, grants, findings }: Invocation,
): Promise<InvocationResult> {
  const fate = chance.happens(oddity)
    ? chance.oneOf(['tool error', 'protocol error', 'not sent', 'lost on the way', 'answer lost'] as const)
    : 'answered';
  const arrive = async () => {
    if (fate === 'not sent' || fate === 'lost on the way') return;
    // Each approval is for one call.
    if (arrivals.length >= grants()) findings.push('a tool ran without an approval of that call');
    arrivals.push(arrivalOf(call));
  };
  try {
    await fiber.step('send to the tool', arrive, 'ERR_UPSTREAM_UNAVAILABLE');
    await fiber.step(`hear from the tool: ${fate}`, async () => undefined, 'ERR_UPSTREAM_UNAVAILABLE');
  } catch (error) {
    // The port reports this failure in its answer, and never throws it.
    if (error instanceof CountersignError) return { kind: 'no_answer', cause: 'reset' };
    throw error;
  }
  switch (fate) {
    case 'answered':
      return { kind: 'result', isError: false, result: { content: [] } };
    case 'tool error':
      return { kind: 'result', isError: true, result: { content: [] } };
    case 'protocol error':
      return { kind: 'error', code: -32603, message: 'it broke' };
    case 'not sent':
      return { kind: 'not_sent', cause: 'refused' };
    case 'lost on the way':
    case 'answer lost':
      return { kind: 'no_answer', cause: 'reset' };
  }
}
