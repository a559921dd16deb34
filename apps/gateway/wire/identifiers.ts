/** Every name and number on the MCP wire that a draft may still change. Other folders import them from here. */
export {
  CARD_ADDRESS,
  ENCODED_VALUE,
  HEADER_MISMATCH,
  HINT_META,
  INPUT_METHODS,
  MIRROR_HEADER_PREFIX,
  MISSING_CAPABILITY,
  OWN_TOOLS,
  TASKS_EXTENSION,
} from '../../../workflows/domain/tools/wire-names.ts';

/** Keys of `capabilities.extensions`. */
export const APPROVAL_EXTENSION = 'io.modelcontextprotocol/tool-approval';
/** First name of the approval extension, declared beside the present name, with the version of its draft. */
export const APPROVAL_EXTENSION_ALIAS = 'net.openid.authzen/tool-approval';
export const APPROVAL_EXTENSION_ALIAS_VERSION = '0.1';
export const DENIAL_EXTENSION = 'io.modelcontextprotocol/structured-authorization-denials';
/** MCP Apps: pages of servers that hosts show beside answers. */
export const APPS_EXTENSION = 'io.modelcontextprotocol/ui';
/** The only type of such a page. */
export const APP_MIME_TYPE = 'text/html;profile=mcp-app';

/** Methods. */
export const LISTEN = 'subscriptions/listen';
export const TASK_NOTIFICATION = 'notifications/tasks';
/** Only in earlier revisions: what the client was asked to do at an address is over. */
export const ELICITATION_COMPLETE = 'notifications/elicitation/complete';
/** Also the capability that announces it. */
export const SIGNATURE = 'signature';

/** `_meta` keys that we write. */
export const AUTHORIZATION_META = 'io.modelcontextprotocol/authorization';
export const DISPOSITION_META = 'io.modelcontextprotocol/tool-approval-disposition';
/** First name of the disposition key. Its value is always the same as that of the present key. */
export const DISPOSITION_META_ALIAS = 'net.openid.authzen/disposition';
export const IMMEDIATE_RESPONSE_META = 'io.modelcontextprotocol/model-immediate-response';
export const OUTCOME_REF_META = 'dev.countersign/outcome-ref';
export const NEXT_STEP_META = 'dev.countersign/next-step';
/** What approvers wrote for the agent. */
export const APPROVER_MESSAGES_META = 'dev.countersign/approver-messages';
/** What the card of a held call shows. */
export const HELD_CALL_META = 'dev.countersign/held-call';
/** In a structured result of an own tool: the statement about the request, for hosts that show only structured results. */
export const REQUEST_MEMBER = 'dev.countersign/request';
/** In a tool's definition: the value of `execution.requirements`. */
export const REQUIREMENTS_META = 'dev.countersign/requirements';
/** In a tool's definition: the value of `preprocessor`. */
export const PREPROCESSOR_META = 'dev.countersign/preprocessor';
/** In a signature: the digest of its canonical form. */
export const SIGNATURE_DIGEST_META = 'dev.countersign/signature-digest';
/** In a refusal: the requirements that are not met. */
export const UNMET_REQUIREMENTS_META = 'dev.countersign/unmet-requirements';

/** In a call to an upstream: it is a preview of another call, for the approvers of that one. */
export const PREVIEW_META = 'dev.countersign/preview';

/** The key of the question to open the page of a held call: the only question of its answer, and asked once in a task. */
export const PAGE_QUESTION = 'approval_page';

/** `_meta` keys that only the gateway writes. */
export const OWN_META_PREFIX = 'dev.countersign/';
/** `_meta` keys that only the gateway or the protocol may write. Otherwise an upstream could forge a denial or a disposition. */
export const RESERVED_META_PREFIXES = ['io.modelcontextprotocol/', 'net.openid.authzen/', OWN_META_PREFIX] as const;

/** `_meta` keys of a client's call that are forwarded to an upstream. */
export const TRACEPARENT_META = 'traceparent';
export const TRACESTATE_META = 'tracestate';
export const BAGGAGE_META = 'baggage';

/** JSON-RPC error codes. */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INVALID_PARAMS = -32_602;
export const INTERNAL_ERROR = -32_603;
/** In the data of `INVALID_PARAMS`: the request state that came back with answers is not valid. */
export const INVALID_REQUEST_STATE = 'invalid_request_state';
/** Our own code, outside the ranges that JSON-RPC and the protocol reserve. It goes with the HTTP status of the same number. */
export const TOO_MANY_REQUESTS = 429;
/**
 * A refused request that calls no tool: by policy, or because the description is not the accepted one. Outside the range that JSON-RPC
 * reserves: -32001, the code that COAZ proposes, is in a range in which the protocol assigns no more codes.
 */
export const READ_DENIED = -31_001;
/** The same, and a denied tool call, for clients that support COAZ alone. @see COAZ, MCP Authorization Denial */
export const COAZ_DENIED = -32_001;
/** The code of earlier revisions for an unknown resource. The present revision uses `INVALID_PARAMS`. */
export const EARLIER_RESOURCE_NOT_FOUND = -32_002;
/** Codes with a meaning for the transport. An upstream's use of them says nothing about the gateway's own transport. */
export const TRANSPORT_ERROR_CODES = { from: -32_099, to: -32_000 } as const;

export const SERVER_INFO = { name: 'countersign', title: 'Countersign', version: '0.1.0' };
