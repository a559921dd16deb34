/** For each `resultType` other than `complete`, the methods that can have it. */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  task: ['tools/call'],
  input_required: ['tools/call', 'prompts/get', 'resources/read'],
};

export type AnswerKind = 'complete' | 'task' | 'input_required';

/**
 * The kind of an answer: a result, a task to follow, or questions to answer first. A client that declares tasks must accept each kind
 * for every call. Throws a `TypeError` for a kind that is not valid for this method.
 * @see SEP-2663, Capability negotiation (TASK-004, TASK-005); SEP-2322, Supported requests
 */
export function kindOfAnswer(
  method: string,
  { resultType = 'complete' }: { readonly resultType?: unknown },
): AnswerKind {
  const isKnown = typeof resultType === 'string' && Object.hasOwn(METHODS, resultType);
  if (resultType !== 'complete' && !(isKnown && METHODS[resultType]?.includes(method)))
    throw new TypeError(`${method} cannot be answered with this kind of result`);
  return resultType as AnswerKind;
}

/** Types of remediation hints. This library ignores any other type. @see SEP-2643, Envelope */
const REMEDIES = ['task', 'url', 'authorization_remediation'] as const;

/** The denial of a call. */
export interface Denial {
  /** Whether there is a way to get permission. A value that is not known counts as `undisclosed`. */
  readonly remediation: 'available' | 'unavailable' | 'undisclosed';
  /** The known ways that the server names. Empty unless `remediation` is `available`. */
  readonly remedies: readonly (typeof REMEDIES)[number][];
}

/** The denial in the result of a tool, or in a task that waits for a decision. Undefined without one. */
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
 * Whether the client may repeat a denied call unchanged after using its remedy, and may ask for another authorization. The server must
 * name a remedy. A call that a task holds goes on by itself and must not be repeated. `undisclosed` forbids it too, although a person
 * may know a way.
 * @see SEP-2643, Envelope (DENIAL-007, DENIAL-008, DENIAL-024)
 */
export function mayRepeat(answer: AnyToolResult): boolean {
  const denial = readDenial(answer);
  return denial?.remediation === 'available' && !denial.remedies.includes('task');
}

/** The result of a tool or of a completed task, as far as this library reads it. */
export interface AnyToolResult {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The disposition that the server reports: `approved-executed`, `denied-not-executed`, `execution-error`, `outcome-unknown`, or an
 * unchanged value of a later version. Undefined if the server reports no disposition, or two different ones.
 * @see SEP-2848, Execution disposition
 */
export function readDisposition({ _meta }: AnyToolResult): string | undefined {
  const said = [_meta?.[DISPOSITION_META], _meta?.[DISPOSITION_META_ALIAS]].filter((one) => one !== undefined);
  const [value] = said;
  return typeof value === 'string' && said.every((one) => one === value) ? value : undefined;
}

/** Whether the tool may have run. An unknown or absent disposition counts as yes, so that no call is repeated on a guess (APPR-133). */
export function mayHaveRun(result: AnyToolResult): boolean {
  return readDisposition(result) !== 'denied-not-executed';
}

/** The names on the wire that this library reads and the gateway writes. */
export const AUTHORIZATION_META = 'io.modelcontextprotocol/authorization';
export const DISPOSITION_META = 'io.modelcontextprotocol/tool-approval-disposition';
/** Former name of the disposition key. */
export const DISPOSITION_META_ALIAS = 'net.openid.authzen/disposition';
export const REQUIREMENTS_META = 'dev.countersign/requirements';
export const PREPROCESSOR_META = 'dev.countersign/preprocessor';

/** Requirements that a client knows, by their exact text: `false` if it cannot meet one, `true` if it may. */
export type KnownRequirements = ReadonlyMap<string, boolean>;

/** The requirements that a tool declares. Undefined without a valid declaration. @see SEP-2487 */
export function requirementsOf({ execution, _meta }: ListedTool): readonly string[] | undefined {
  const declared = (execution as { requirements?: unknown } | null | undefined)?.requirements;
  return textsIn(declared) ?? textsIn(_meta?.[REQUIREMENTS_META]);
}

/**
 * Whether the server would certainly refuse a call of the tool, so that a client may hide, rank lower or avoid it. True only if the
 * client knows every requirement and cannot meet one. Otherwise the client must behave as without a declaration. The result says nothing
 * about permission, and the server always decides.
 * @see SEP-2487, Client Behavior (REQ-008 to REQ-011)
 */
export function isBoundToFail(tool: ListedTool, known: KnownRequirements): boolean {
  const requirements = requirementsOf(tool) ?? [];
  return requirements.every((one) => known.has(one)) && requirements.some((one) => known.get(one) === false);
}

function textsIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
}

/** A tool of `tools/list`, as far as this library reads it. The result of any MCP client fits. */
export interface ListedTool {
  readonly name: string;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?: unknown;
  /** Official clients drop the members that follow. Only clients that read the raw answer have them. */
  readonly execution?: unknown;
  readonly preprocessor?: unknown;
}
