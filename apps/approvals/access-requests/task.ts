import { isEnded, type AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';

export interface TaskUrls {
  /** The submission URL; the status of a task is below it. */
  readonly accessRequests: string;
  /** Where approvers and requesters look with a browser. */
  readonly approvals: string;
}

const TITLES = {
  pending: 'Waiting for an approver',
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Nobody decided in time',
  cancelled: 'Cancelled',
  failed: 'Could not be decided',
} as const satisfies Record<AccessRequest['status'], string>;

/** What of an access request its task shows. */
export type TaskFacts = Pick<AccessRequest, 'id' | 'status' | 'expiresAt' | 'stages' | 'stage' | 'approval'>;

/** An access request of which nobody but its submitter can know yet. */
export type JustOpened = TaskFacts & { readonly status: 'pending' };

/**
 * The task handle as the enforcement point may see it: no approver, no reason, no argument,
 * and nothing about whom it waits for (`awaiting`). @see ARAP, Response (ARAP-TSK-07, ARAP-TSK-08)
 */
export function taskOf(request: TaskFacts, mayCancel: boolean, urls: TaskUrls) {
  const endpoint = statusEndpoint(request.id, urls);
  return {
    id: request.id,
    status: request.status,
    status_endpoint: endpoint,
    expires_at: request.expiresAt,
    progress: {
      current_step: request.stage,
      total_steps: request.stages.length,
      step_name: openStage(request).name,
    },
    display: { title: TITLES[request.status] },
    links: {
      ...(mayCancel && !isEnded(request.status) && { cancel: `${endpoint}/cancel` }),
      ticket: `${urls.approvals}/requests/${request.id}`,
    },
  };
}

export function statusEndpoint(id: string, urls: Pick<TaskUrls, 'accessRequests'>): string {
  return `${urls.accessRequests}/${id}`;
}

/** What of an answer depends on who asks: the signed proof, and whether they could cancel. */
export interface Entitled {
  readonly state: string | undefined;
  readonly mayCancel: boolean;
}

/** Body of every answer about a task; with the approval for whoever is entitled to it. @see ARAP, Completed Task */
export function statusBody(request: TaskFacts, { state, mayCancel }: Entitled, urls: TaskUrls) {
  const task = taskOf(request, mayCancel, urls);
  const { approval } = request;
  if (approval === undefined || state === undefined) return { task };
  const { id, approvedAt: approved_at, approvedUntil: approved_until } = approval;
  return { task, result: { mode: 'reevaluate', approval: { id, approved_at, approved_until, state } } };
}
