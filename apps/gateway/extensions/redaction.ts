import { type JsonObject, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError, type ErrorCode } from '../../../workflows/domain/errors.ts';
import type { GatedCalls, GatedCallView } from '../../../workflows/domain/ports.ts';
import type { InvocationResult, Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import type { UpstreamTask } from '../../../workflows/domain/relay.ts';
import {
  isAbove,
  type Sensitivity,
  type ToolFacts,
  type ToolSettings,
} from '../../../workflows/domain/tools/tool-facts.ts';
import type { AcceptedTools } from '../../../workflows/domain/tools/accepted-descriptions.ts';

const WITHHELD =
  "The tool's result is withheld: it is marked as more sensitive than this gateway may show. " +
  'The operator of this gateway can change that.';
const WITHHELD_ERROR = "The tool's server answered with an error, whose text is withheld as too sensitive.";

/** Keeps results of sensitive tools from clients, and so from models. @see advisory policy hints (HINT-012) */
export interface Redaction {
  /** Whether results of a tool like this are withheld. One that says nothing of its results is taken for public. */
  withholds(facts: ToolFacts): boolean;
  /** The result of a call that was allowed, as the client may see it. */
  ofResult(facts: ToolFacts, result: InvocationResult): InvocationResult;
  /** A task that the upstream of this tool opened, as its owner may see it. */
  ofTask(task: UpstreamTask, tool: string, tools: ToolLookup): Promise<UpstreamTask>;
  /** The same records, in which results of sensitive tools are withheld from readers of a task. */
  ofTasks(gatedCalls: GatedCalls, tools: ToolLookup): GatedCalls;
}

/** Where tools are looked up of which only the name is known. */
export interface ToolLookup {
  readonly upstreams: Pick<Upstreams, 'find'>;
  readonly accepted: AcceptedTools;
}

/** Without a ceiling nothing is withheld. `settings`: what the operator says of tools, also of those that are gone. */
export function createRedaction(
  ceiling: Sensitivity | undefined,
  settings: Readonly<Record<string, ToolSettings>>,
): Redaction {
  const exceeds = (sensitivity: Sensitivity | undefined) =>
    ceiling !== undefined && isAbove(sensitivity ?? 'public', ceiling);
  const withholds = ({ hints }: ToolFacts) => exceeds(hints.resultSensitivity);

  /**
   * A tool that cannot be looked up may be one whose results are sensitive. So may one that is not as it was accepted: its
   * upstream could call results public that were not when the call was made.
   */
  async function isWithheld(tool: string, { upstreams, accepted }: ToolLookup): Promise<boolean> {
    if (ceiling === undefined) return false;
    const own = ownProperty(settings, tool)?.resultSensitivity;
    if (own !== undefined) return exceeds(own);
    const found = await upstreams.find(tool).catch(unlessUnreachable);
    const [described] = found === undefined ? [] : await accepted.among([found]);
    return described === undefined || withholds(described.facts);
  }

  return {
    withholds,
    ofResult: (facts, result) => (withholds(facts) ? withheld(result) : result),
    ofTask: async (task, tool, tools) => ((await isWithheld(tool, tools)) ? withheldTask(task) : task),
    ofTasks(gatedCalls, tools) {
      if (ceiling === undefined) return gatedCalls;
      const redacted = (find: GatedCalls['findTask']) => async (taskId: string, owner: string) => {
        const view = await find(taskId, owner);
        if (view?.result === undefined || !(await isWithheld(view.tool, tools))) return view;
        return { ...view, result: JSON.stringify(PLACEHOLDER) } satisfies GatedCallView;
      };
      return {
        ...gatedCalls,
        findTask: redacted((taskId, owner) => gatedCalls.findTask(taskId, owner)),
        readTask: redacted((taskId, owner) => gatedCalls.readTask(taskId, owner)),
      };
    },
  };
}

const PLACEHOLDER: JsonObject = { content: [{ type: 'text', text: WITHHELD }] };

function withheld(result: InvocationResult): InvocationResult {
  if (result.kind === 'result') {
    return { ...result, result: { ...PLACEHOLDER, ...(result.isError && { isError: true }) } };
  }
  // What a server writes into an error may be what its tool would have answered.
  return result.kind === 'error' ? { kind: 'error', code: result.code, message: WITHHELD_ERROR } : result;
}

/** No member that is not known to say nothing. */
function withheldTask({ result, error, inputRequests, ...task }: UpstreamTask): UpstreamTask {
  const { taskId, status, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = task;
  return {
    ...{ taskId, status, createdAt, lastUpdatedAt, ttlMs },
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    ...(result && { result: { ...PLACEHOLDER, ...(result['isError'] === true && { isError: true }) } }),
    ...(error && { error: { code: error.code, message: WITHHELD_ERROR } }),
    ...(inputRequests && { inputRequests: {} }),
  };
}

function unlessUnreachable(error: unknown): undefined {
  const codes: readonly ErrorCode[] = ['ERR_UPSTREAM_UNAVAILABLE', 'ERR_UPSTREAM_LIST_UNAVAILABLE'];
  if (error instanceof CountersignError && codes.includes(error.code)) return undefined;
  throw error;
}
