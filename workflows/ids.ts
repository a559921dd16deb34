/** Workflow id of a gated call. Derived from its row, so starting twice finds the same workflow; holds nothing secret. */
export function gatedCallWorkflowId(gatedCallId: string): string {
  return `gated-call/${gatedCallId}`;
}
