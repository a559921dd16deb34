/** Keys in the `_meta` of a tool under which servers give hints about it. Read from upstreams, and written for clients. */
export const HINT_META = {
  effect: 'mcp.dev/effect',
  idempotent: 'mcp.dev/idempotent',
  requiresConfirmation: 'mcp.dev/requiresConfirmation',
  resultSensitivity: 'mcp.dev/resultSensitivity',
} as const;

/** Names of the gateway's own tools. No tool of an upstream is offered under one: it could pass for an approval. */
export const OWN_TOOLS = { requestAccess: 'request_access', requestStatus: 'get_request_status' } as const;
