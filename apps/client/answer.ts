/** What may be answered with something else than its result, by the `resultType` that says so. */
const OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  task: ['tools/call'],
  input_required: ['tools/call', 'prompts/get', 'resources/read'],
};

export type AnswerKind = 'complete' | 'task' | 'input_required';

/**
 * What a request was answered with: its result, a task to follow, or questions to answer first. A client that declares tasks
 * has to take each for every call. Throws a `TypeError` for one that this method cannot have: such an answer is not valid.
 * @see SEP-2663, Capability negotiation (TASK-004, TASK-005); SEP-2322, Supported requests
 */
export function kindOfAnswer(
  method: string,
  { resultType = 'complete' }: { readonly resultType?: unknown },
): AnswerKind {
  const isKnown = typeof resultType === 'string' && Object.hasOwn(OTHERWISE, resultType);
  if (resultType !== 'complete' && !(isKnown && OTHERWISE[resultType]?.includes(method)))
    throw new TypeError(`${method} cannot be answered with this kind of result`);
  return resultType as AnswerKind;
}

/** What the hints to a remedy are about. Any other type means nothing to this library. @see SEP-2643, Envelope */
const REMEDIES = ['task', 'url', 'authorization_remediation'] as const;

/** What a server says of a call that it did not carry out for want of permission. */
export interface Denial {
  /** Whether there is a way to get it. `undisclosed` leaves that open, and so does what cannot be understood. */
  readonly remediation: 'available' | 'unavailable' | 'undisclosed';
  /** Ways that the server names, of those that are known. None unless one is available. */
  readonly remedies: readonly (typeof REMEDIES)[number][];
}

/** The denial in an answer: a tool's result, or a task that waits for a decision. Undefined where there is none. */
export function readDenial({ _meta }: AnyToolResult): Denial | undefined {
  const envelope = _meta?.[AUTHORIZATION_META];
  if (envelope === undefined) return undefined;
  const { remediation, remediationHints } = (envelope ?? {}) as Record<string, unknown>;
  if (remediation === 'unavailable') return { remediation, remedies: [] };
  if (remediation !== 'available') return { remediation: 'undisclosed', remedies: [] };
  const hints: readonly unknown[] = Array.isArray(remediationHints) ? remediationHints : [];
  const named = new Set(hints.map((hint) => (hint as { type?: unknown } | null)?.type));
  return { remediation, remedies: REMEDIES.filter((type) => named.has(type)) };
}

/**
 * Whether a denied call may be made again as it is, once its remedy was used, and whether another authorization may be asked
 * for. Only where the server says that there is a remedy, and not while a task holds the call: that one goes on by itself.
 * `undisclosed` forbids it too, and says all the same that somebody may know a way.
 * @see SEP-2643, Envelope (DENIAL-007, DENIAL-008, DENIAL-024)
 */
export function mayRepeat(answer: AnyToolResult): boolean {
  const denial = readDenial(answer);
  return denial?.remediation === 'available' && !denial.remedies.includes('task');
}

/** The result of a tool, or the one inside a completed task, as far as this library looks. */
export interface AnyToolResult {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The one value that says that nothing ran. */
const NOT_EXECUTED = 'denied-not-executed';

/**
 * What became of the execution, as the server says: `approved-executed`, `denied-not-executed`, `execution-error`,
 * `outcome-unknown`, or a value of a later version, which is handed out as it is. Undefined where the server says nothing,
 * or two things at once.
 * @see SEP-2848, Execution disposition
 */
export function readDisposition({ _meta }: AnyToolResult): string | undefined {
  const said = [_meta?.[DISPOSITION_META], _meta?.[DISPOSITION_META_ALIAS]].filter((one) => one !== undefined);
  const [value] = said;
  return typeof value === 'string' && said.every((one) => one === value) ? value : undefined;
}

/**
 * Whether the tool may have run. Only a plain "it did not" rules that out: a value that nobody knows, and none at all, count
 * as "it may have", so that no call is repeated on a guess (APPR-133).
 */
export function mayHaveRun(result: AnyToolResult): boolean {
  return readDisposition(result) !== NOT_EXECUTED;
}

/** The names on the wire that this library reads. They are those that the gateway writes. */
export const AUTHORIZATION_META = 'io.modelcontextprotocol/authorization';
export const DISPOSITION_META = 'io.modelcontextprotocol/tool-approval-disposition';
/** First name of the disposition key. */
export const DISPOSITION_META_ALIAS = 'net.openid.authzen/disposition';
export const REQUIREMENTS_META = 'dev.countersign/requirements';
export const PREPROCESSOR_META = 'dev.countersign/preprocessor';

/**
 * What a client knows of requirements, by their exact text: `false` for one that it cannot meet, `true` for one that it may.
 * Those that it does not know are absent.
 */
export type KnownRequirements = ReadonlyMap<string, boolean>;

/** What a tool declares, or undefined when it declares nothing that can be read. @see SEP-2487 */
export function requirementsOf({ execution, _meta }: ListedTool): readonly string[] | undefined {
  const declared = (execution as { requirements?: unknown } | null | undefined)?.requirements;
  return textsIn(declared) ?? textsIn(_meta?.[REQUIREMENTS_META]);
}

/**
 * Whether a call of the tool would certainly be refused, so that a client may leave it out, rank it lower or avoid it. True
 * only when every requirement is known and one of them cannot be met; in any other case the client has to behave as if
 * nothing were declared. It is no statement about permission, and the server decides in any case.
 * @see SEP-2487, Client Behavior (REQ-008 to REQ-011)
 */
export function isBoundToFail(tool: ListedTool, known: KnownRequirements): boolean {
  const requirements = requirementsOf(tool) ?? [];
  return requirements.every((one) => known.has(one)) && requirements.some((one) => known.get(one) === false);
}

function textsIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
}

/** A tool as `tools/list` has it, as far as this library looks. What any MCP client's `listTools` answers fits. */
export interface ListedTool {
  readonly name: string;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?: unknown;
  /** Only clients that read the answer as it came have the members that follow: the official ones drop them. */
  readonly execution?: unknown;
  readonly preprocessor?: unknown;
}
