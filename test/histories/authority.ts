import { randomUUID } from 'node:crypto';
import type { Approval } from '../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { AccessRequestService, ResolutionStatus } from '../../workflows/domain/ports.ts';
import type { ServiceRequest } from '../invariants/invariant.ts';
import { anApproval } from '../support/gated-calls.ts';
import type { Chance } from './chance.ts';
import type { Fiber } from './scheduler.ts';

/** What fails when the access request service cannot be reached. */
export const AWAY = 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE';

/** The access request service of one history, with the people behind it. */
export interface Authority {
  accessRequests(fiber: Fiber): AccessRequestService;
  /** An approver decides on one of the open requests. */
  decide(verdict: 'granted' | 'denied'): unknown;
  /** Further events, each with its weight. */
  events(): readonly (readonly [weight: number, event: () => unknown])[];
  /** How many requests were opened, how many of them were granted, and how many of these by a grant. */
  count(): { readonly opened: number; readonly granted: number; readonly byGrant: number };
  /** Those of its requests that are not in the database. */
  evidence(): readonly ServiceRequest[];
}

interface KnownRequest {
  readonly id: string;
  readonly body: string;
  status: 'open' | 'granted' | 'denied' | 'cancelled';
  readonly approval: Approval;
}

export const handleOf = (id: string) => {
  const at = (what: string) => `http://127.0.0.1:1/${what}/${id}`;
  return { accessRequestId: id, statusEndpoint: at('status'), cancelEndpoint: at('cancel') };
};

/** A service in memory, as any vendor may have one. `findings` gets what must not have happened. */
export function createForeignAuthority(chance: Chance, findings: string[]): Authority {
  const requests = new Map<string, KnownRequest>();
  const byId = (id: string) => [...requests.values()].find((request) => request.id === id);
  const of = (status: KnownRequest['status']) => [...requests.values()].filter((one) => one.status === status);
  return {
    events: () => [],
    count: () => ({ opened: requests.size, granted: of('granted').length, byGrant: 0 }),
    evidence: () => [...requests.values()].map(({ id, status }) => ({ accessRequestId: id, live: status === 'open' })),
    decide(verdict) {
      const open = of('open');
      if (open.length > 0) chance.oneOf(open).status = verdict;
    },
    accessRequests: (fiber) => ({
      submit: (submission) => fiber.step('submit', async () => submitted(requests, findings, submission), AWAY),
      read: ({ accessRequestId }) => fiber.step('read the status', async () => statusOf(byId(accessRequestId)), AWAY),
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
          AWAY,
        ),
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
  return handleOf(request.id);
}

function statusOf(request: KnownRequest | undefined): ResolutionStatus {
  if (request === undefined) throw new CountersignError('ERR_ACCESS_REQUEST_NOT_FOUND', 'no such request');
  if (request.status === 'open') return { kind: 'pending' };
  return request.status === 'granted' ? { kind: 'granted', approval: request.approval } : { kind: request.status };
}
