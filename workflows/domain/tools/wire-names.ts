/** Keys in the `_meta` of a tool under which servers give hints about it. Read from upstreams, and written for clients. */
export const HINT_META = {
  effect: 'mcp.dev/effect',
  idempotent: 'mcp.dev/idempotent',
  requiresConfirmation: 'mcp.dev/requiresConfirmation',
  resultSensitivity: 'mcp.dev/resultSensitivity',
} as const;
