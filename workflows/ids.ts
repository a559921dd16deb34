const PREFIX = 'gated-call/';
const ACCESS_REQUEST_PREFIX = 'access-request/';

/** Workflow id of a gated call. Derived from its row, so starting twice finds the same workflow; holds nothing secret. */
export function gatedCallWorkflowId(gatedCallId: string): string {
  return `${PREFIX}${gatedCallId}`;
}

/** The gated call that a workflow with this id is for. */
export function gatedCallIdOf(workflowId: string): string {
  return workflowId.slice(PREFIX.length);
}

/** Workflow id of an access request. Derived from its row, so starting twice finds the same workflow. */
export function accessRequestWorkflowId(accessRequestId: string): string {
  return `${ACCESS_REQUEST_PREFIX}${accessRequestId}`;
}

/** The access request that a workflow with this id is for. */
export function accessRequestIdOf(workflowId: string): string {
  return workflowId.slice(ACCESS_REQUEST_PREFIX.length);
}
