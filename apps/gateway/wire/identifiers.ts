/**
 * Every name and number on the MCP wire that a draft may still change. Nothing outside this folder spells one out, but for
 * those that are read from upstreams as well.
 */
export {
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
/** First name of the approval extension; declared beside the present one, with the version of the draft that had it. */
export const APPROVAL_EXTENSION_ALIAS = 'net.openid.authzen/tool-approval';
export const APPROVAL_EXTENSION_ALIAS_VERSION = '0.1';
export const DENIAL_EXTENSION = 'io.modelcontextprotocol/structured-authorization-denials';

/** Methods. */
export const LISTEN = 'subscriptions/listen';
export const TASK_NOTIFICATION = 'notifications/tasks';
/** Also the capability that announces it. */
export const SIGNATURE = 'signature';

/** `_meta` keys that we write. */
export const AUTHORIZATION_META = 'io.modelcontextprotocol/authorization';
export const DISPOSITION_META = 'io.modelcontextprotocol/tool-approval-disposition';
/** First name of the disposition key; always holds the same value as the present one. */
export const DISPOSITION_META_ALIAS = 'net.openid.authzen/disposition';
export const IMMEDIATE_RESPONSE_META = 'io.modelcontextprotocol/model-immediate-response';
export const OUTCOME_REF_META = 'dev.countersign/outcome-ref';
export const NEXT_STEP_META = 'dev.countersign/next-step';
/** In a structured result that one of our own tools gives: what is said of the request, for hosts that show nothing else of it. */
export const REQUEST_MEMBER = 'dev.countersign/request';
/** In a tool's definition: what `execution.requirements` says. */
export const REQUIREMENTS_META = 'dev.countersign/requirements';
/** In a tool's definition: what `preprocessor` says. */
export const PREPROCESSOR_META = 'dev.countersign/preprocessor';
/** In a signature: the digest of its canonical form. */
export const SIGNATURE_DIGEST_META = 'dev.countersign/signature-digest';
/** In a refusal: the requirements that are not met. */
export const UNMET_REQUIREMENTS_META = 'dev.countersign/unmet-requirements';

/** `_meta` keys that only we write. */
export const OWN_META_PREFIX = 'dev.countersign/';
/** `_meta` keys that only we or the protocol may write: an upstream could otherwise forge a denial or a disposition. */
export const RESERVED_META_PREFIXES = ['io.modelcontextprotocol/', 'net.openid.authzen/', OWN_META_PREFIX] as const;

/** `_meta` keys of a client's call that are handed on to an upstream. */
export const TRACEPARENT_META = 'traceparent';
export const TRACESTATE_META = 'tracestate';
export const BAGGAGE_META = 'baggage';

/** JSON-RPC error codes. */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INVALID_PARAMS = -32_602;
export const INTERNAL_ERROR = -32_603;
/** In the data of `INVALID_PARAMS`: what is wrong is the state that came back with answers. */
export const INVALID_REQUEST_STATE = 'invalid_request_state';
/** Ours, outside of what JSON-RPC and the protocol reserve; goes with the HTTP status of the same number. */
export const TOO_MANY_REQUESTS = 429;
/**
 * A refusal of a request that calls no tool, by policy or because what it is for is not as it was accepted. Outside of what JSON-RPC reserves: the number that COAZ proposes, -32001,
 * lies in a range of which the protocol assigns no more codes.
 */
export const READ_DENIED = -31_001;
/** The same, and a denied tool call, for clients that go by COAZ alone. @see COAZ, MCP Authorization Denial */
export const COAZ_DENIED = -32_001;
/** How earlier revisions say that there is no such resource; the present one says that the parameters are not valid. */
export const EARLIER_RESOURCE_NOT_FOUND = -32_002;
/** Codes with a meaning for the transport; an upstream's use of them says nothing about our own transport. */
export const TRANSPORT_ERROR_CODES = { from: -32_099, to: -32_000 } as const;

/** Name under which the gateway is known to clients and servers. */
export const SERVER_INFO = { name: 'countersign', title: 'Countersign', version: '0.1.0' };
