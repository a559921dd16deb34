/**
 * Name under which the enforcement side is known to the authority side, whichever replica speaks. Binding tokens and
 * approvals are bound to it, so it has to outlive processes, sessions and tokens (PRJ-26).
 */
export const PEP_CLIENT_ID = 'mcp-gateway';
