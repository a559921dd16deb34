/** Facts about each refusal or failure that has a name. The only list of codes. */
export const ERROR_FACTS = {
  ERR_CONFIG_INVALID: { retryable: false },
  ERR_GATED_CALL_NOT_FOUND: { retryable: false },
  ERR_TOOL_NOT_FOUND: { retryable: false },
  ERR_PROMPT_NOT_FOUND: { retryable: false },
  ERR_RESOURCE_NOT_FOUND: { retryable: false },
  ERR_READ_DENIED: { retryable: false },
  ERR_STEP_UP_NEEDED: { retryable: false },
  ERR_NOT_ACCEPTED: { retryable: false },
  ERR_ARGUMENTS_INVALID: { retryable: false },
  ERR_MAPPING_FAILED: { retryable: false },
  ERR_REQUEST_STATE_INVALID: { retryable: false },
  ERR_CALL_BINDING_MISMATCH: { retryable: false },
  ERR_SEAL_BROKEN: { retryable: false },
  ERR_DENIAL_BINDING_INVALID: { retryable: false },
  ERR_DENIAL_EXPIRED: { retryable: false },
  ERR_NOT_REQUESTABLE: { retryable: false },
  ERR_SUBMISSION_CONFLICT: { retryable: false },
  ERR_ACCESS_REQUEST_NOT_FOUND: { retryable: false },
  ERR_TOKEN_INVALID: { retryable: false },
  ERR_PDP_UNAVAILABLE: { retryable: true },
  ERR_OBLIGATION_UNAVAILABLE: { retryable: true },
  ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE: { retryable: true },
  ERR_UPSTREAM_UNAVAILABLE: { retryable: true },
  ERR_UPSTREAM_LIST_UNAVAILABLE: { retryable: true },
  ERR_IDENTITY_PROVIDER_UNAVAILABLE: { retryable: true },
  ERR_DATABASE_UNAVAILABLE: { retryable: true },
  ERR_GATEWAY_UNAVAILABLE: { retryable: true },
  ERR_SEALING_KEY_UNAVAILABLE: { retryable: true },
} as const satisfies Record<string, { retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_FACTS;

/**
 * A refusal or failure that we name. The message is for people and holds no arguments, tokens or approver names;
 * programs look at `code`.
 */
export class CountersignError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CountersignError';
    this.code = code;
  }

  /** Whether the same attempt may succeed later without anything being changed. */
  get retryable(): boolean {
    return ERROR_FACTS[this.code].retryable;
  }
}

const is = (error: unknown, code: ErrorCode): error is CountersignError =>
  error instanceof CountersignError && error.code === code;

/** Whether the database failed at that moment. Whether the statement was committed is then not known. */
export const isDatabaseAway = (error: unknown): error is CountersignError => is(error, 'ERR_DATABASE_UNAVAILABLE');

/** Whether a sealed part of a gated call cannot be opened any more: that ends the call, and no other. */
export const isSealBroken = (error: unknown): error is CountersignError => is(error, 'ERR_SEAL_BROKEN');

/** Whether this process cannot open a sealed part of a gated call: the call waits until one has the key. */
export const isSealingKeyMissing = (error: unknown): error is CountersignError =>
  is(error, 'ERR_SEALING_KEY_UNAVAILABLE');

/**
 * SQLSTATEs that say "not now": connection trouble (08), a deadlock or another conflict (40), no disk, memory or
 * connection left (53), a shutdown or a crash (57P), a failing disk (58), a lock or statement that took too long, and a
 * server that only reads.
 */
const PASSING = /^(08|40|53|57P|58)|^(55P03|57014|25006)$/;
/** A transaction that may not write: of a standby, or of a server that was made read-only. */
const ONLY_READS = '25006';
/** A prepared statement whose table was migrated. Its connection is given up, and the next one prepares it anew. */
const OUTDATED_PLAN = 'cached plan must not change result type';

/** The words of the pool of connections (pg-pool) for a wait that took too long while all of its connections were in use. */
const NONE_FREE = 'timeout exceeded when trying to connect';

/**
 * The failure of a statement, as `ERR_DATABASE_UNAVAILABLE` where it is trouble that passes: the caller may try again. Whether
 * the statement was committed is then not known. Other errors stay as they are, and so does a `CountersignError`.
 */
export function asUnavailable(thrown: unknown): Error {
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (cause instanceof CountersignError || !passes(cause)) return cause;
  return new CountersignError('ERR_DATABASE_UNAVAILABLE', `${trouble(cause)}; try again`, { cause });
}

/** An operator who reads this has to look in the right place: a database that answers may be idle, or accept no changes. */
function trouble(cause: Error): string {
  if (cause.message === NONE_FREE)
    return 'no connection of this process to the database became free in time; either has too much to do';
  return isAnswer(cause) && cause.code === ONLY_READS
    ? 'the database accepts no changes (it is read-only)'
    : 'the database does not answer';
}

/** An error that the database did not send is about the connection to it, except faults of the program, which have classes of their own. */
const passes = (error: Error): boolean =>
  isAnswer(error)
    ? PASSING.test(error.code) || error.message === OUTDATED_PLAN
    : !(error instanceof TypeError || error instanceof RangeError);

/** Errors that the database sent always have a severity beside their code; those of the network have a code alone. */
const isAnswer = (error: Error): error is Error & { readonly code: string } => 'severity' in error && 'code' in error;
