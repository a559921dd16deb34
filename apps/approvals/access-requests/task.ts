import { isEnded, type AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { type Bundle, bundleStatus, type BundleStatus } from '../../../workflows/domain/access-request/statement.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import { RESOLUTION_LINK } from '../../../workflows/domain/authzen/evaluation.ts';

export interface TaskUrls {
  /** The submission URL. The status endpoints of tasks are below it. */
  readonly accessRequests: string;
  /** The inbox for approvers and requesters. */
  readonly approvals: string;
}

const TITLES = {
  pending: 'Waiting for an approver',
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired before a decision',
  cancelled: 'Cancelled',
  failed: 'Could not be decided',
  partial: 'Decided differently for its items',
} as const satisfies Record<BundleStatus, string>;

/** The part of an access request that its task shows. */
export type TaskFacts = Pick<AccessRequest, 'id' | 'status' | 'expiresAt' | 'stages' | 'stage' | 'approval'>;

/** A new access request. Only its submitter can know its id. */
export type JustOpened = TaskFacts & { readonly status: 'pending' };

/** The access requests of a task. */
export const requestsOf = <T extends object>(task: T | Bundle): readonly (T | AccessRequest)[] =>
  'items' in task ? task.items : [task];

/** The status of a request, or the joint status of a bundle's items. */
export const statusOf = (task: Pick<TaskFacts, 'status'> | Bundle): BundleStatus =>
  'items' in task ? bundleStatus(task.items.map((item) => item.status)) : task.status;

type MayFollow = Pick<Entitled, 'mayCancel' | 'mayReadResolution'>;

/**
 * The task as the enforcement point may see it: without approvers, reasons, arguments, and pending people (`awaiting`).
 * @see ARAP, Response (ARAP-TSK-07, ARAP-TSK-08)
 */
export function taskOf(request: TaskFacts, may: MayFollow, urls: TaskUrls) {
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
      ...linksOf(endpoint, may, !isEnded(request.status)),
      ticket: `${urls.approvals}/requests/${request.id}`,
    },
  };
}

const linksOf = (endpoint: string, { mayCancel, mayReadResolution }: MayFollow, isOpen: boolean) => ({
  ...(mayCancel && isOpen && { cancel: `${endpoint}/cancel` }),
  ...(mayReadResolution && { [RESOLUTION_LINK]: `${endpoint}/resolution` }),
});

export function statusEndpoint(id: string, urls: Pick<TaskUrls, 'accessRequests'>): string {
  return `${urls.accessRequests}/${id}`;
}

/** What depends on the client: the signed proofs, by request id, and the operations it may use. */
export interface Entitled {
  readonly states: ReadonlyMap<string, string>;
  readonly mayCancel: boolean;
  readonly mayReadResolution: boolean;
}

/** Body of every answer about a task, with the approval for an entitled client. @see ARAP, Completed Task */
export function statusBody(task: TaskFacts | Bundle, { states, ...may }: Entitled, urls: TaskUrls) {
  // A bundle has no `result` beside its task, which could pass for an approval of all items (ARAP-BLK-08).
  if ('items' in task) return { task: bundleTaskOf(task, { states, ...may }, urls) };
  return { task: taskOf(task, may, urls), ...resultOf(task, states) };
}

function resultOf({ id: requestId, approval }: Pick<TaskFacts, 'id' | 'approval'>, states: Entitled['states']) {
  const state = states.get(requestId);
  if (approval === undefined || state === undefined) return {};
  const { id, approvedAt: approved_at, approvedUntil: approved_until } = approval;
  return { result: { mode: 'reevaluate', approval: { id, approved_at, approved_until, state } } };
}

/** The task of a bundle: each submitted item with its status and its own approval. @see ARAP, Response (ARAP-BLK-05) */
function bundleTaskOf(bundle: Bundle, { states, ...may }: Entitled, urls: TaskUrls) {
  const { id, items } = bundle;
  const endpoint = statusEndpoint(id, urls);
  const status = statusOf(bundle);
  return {
    id,
    status,
    status_endpoint: endpoint,
    expires_at: items
      .map((item) => item.expiresAt)
      .sort()
      .at(-1),
    display: { title: TITLES[status] },
    links: linksOf(endpoint, may, status === 'pending'),
    items: items.map((item) => ({
      resource: item.resource,
      action: item.action,
      status: item.status,
      ...resultOf(item, states),
    })),
  };
}
