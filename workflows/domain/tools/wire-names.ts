/** Keys in the `_meta` of a tool under which servers give hints about it. Read from upstreams, and written for clients. */
export const HINT_META = {
  effect: 'mcp.dev/effect',
  idempotent: 'mcp.dev/idempotent',
  requiresConfirmation: 'mcp.dev/requiresConfirmation',
  resultSensitivity: 'mcp.dev/resultSensitivity',
} as const;

/** Key of `capabilities.extensions` under which clients and servers declare tasks. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** The input requests that an answer may carry; methods that no request has any more. */
export const INPUT_METHODS = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
} as const;

/** JSON-RPC error of a request whose client did not declare a capability that it needs. Answered with HTTP status 400. */
export const MISSING_CAPABILITY = -32_021;

/** Names of the gateway's own tools. No tool of an upstream is offered under one: it could pass for an approval. */
export const OWN_TOOLS = { requestAccess: 'request_access', requestStatus: 'get_request_status' } as const;

/** The gateway's own page for hosts of MCP Apps. No resource of an upstream is offered under this address: it could pass for an approval. */
export const CARD_ADDRESS = 'ui://countersign/held-call';

/** In the schema of an argument: the name of the header in which clients over HTTP repeat it. */
export const MIRROR_KEYWORD = 'x-mcp-header';
export const MIRROR_HEADER_PREFIX = 'Mcp-Param-';
/** Around the value of a header that is Base64 of UTF-8. */
export const ENCODED_VALUE = { start: '=?base64?', end: '?=' } as const;
/** A request whose headers are not what its body says. */
export const HEADER_MISMATCH = -32_020;

/** In a tool's input schema: the mapping from a call to evaluation requests. @see COAZ, declaring a mapping */
export const MAPPING_KEYWORD = 'x-authzen-mapping';

/** Between the prefix of an upstream and its own name for a thing. No prefix has it. */
const SEPARATOR = '__';

/** The beginning of public names with this prefix. Empty for no prefix: the names are the upstream's own. */
export const namePrefixOf = (prefix: string): string => (prefix === '' ? '' : `${prefix}${SEPARATOR}`);
