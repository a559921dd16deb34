import { type JsonObject, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError, type ErrorCode } from '../../../workflows/domain/errors.ts';
import type { GatedCalls, GatedCallView } from '../../../workflows/domain/ports.ts';
import type { InvocationResult, Upstreams, UpstreamTask } from '../../../workflows/domain/upstream-ports.ts';
import {
  isAbove,
  type Sensitivity,
  type ToolFacts,
  type ToolSettings,
} from '../../../workflows/domain/tools/tool-facts.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';

const WITHHELD =
  'The tool ran. Its result is withheld: it is marked as more sensitive than this gateway may show. ' +
  'The operator of this gateway can change that.';
const WITHHELD_ERROR = "The tool's server answered with an error, whose text is withheld as too sensitive.";

/** Withholds results of sensitive tools from clients, and so from models. @see advisory policy hints (HINT-012) */
export type Redaction = ReturnType<typeof createRedaction>;

/** Finds the tool of a task, of which only the name is known. */
export interface ToolLookup {
  readonly upstreams: Pick<Upstreams, 'find'>;
  readonly accepted: Accepted;
}

interface RedactionSettings {
  /** The operator's settings of tools, also of tools that are gone. They may change. */
  readonly tools: Readonly<Record<string, ToolSettings>>;
}

/** Without a ceiling nothing is withheld. */
export function createRedaction(ceiling: Sensitivity | undefined, settings: RedactionSettings) {
  const exceeds = (sensitivity: Sensitivity | undefined) =>
    ceiling !== undefined && isAbove(sensitivity ?? 'public', ceiling);
  /** Whether results of this tool are withheld. A tool without a sensitivity counts as public. */
  const withholds = ({ hints }: ToolFacts) => exceeds(hints.resultSensitivity);

  /**
   * A tool that cannot be found may have sensitive results. So may a tool whose description is not the accepted one: its upstream could
   * now call results public that were sensitive when the call was made.
   */
  async function isWithheld(tool: string, { upstreams, accepted }: ToolLookup): Promise<boolean> {
    if (ceiling === undefined) return false;
    const own = ownProperty(settings.tools, tool)?.resultSensitivity;
    if (own !== undefined) return exceeds(own);
    const found = await upstreams.find(tool).catch(unlessUnreachable);
    const [described] = found === undefined ? [] : await accepted.among([found]);
    return described === undefined || withholds(described.facts);
  }

  return {
    withholds,
    /** The result of an allowed call, as the client may see it. */
    ofResult: (facts: ToolFacts, result: InvocationResult) => (withholds(facts) ? withheld(result) : result),
    /** A task that the upstream of this tool opened, as its owner may see it. */
    ofTask: async (task: UpstreamTask, tool: string, tools: ToolLookup) =>
      (await isWithheld(tool, tools)) ? withheldTask(task) : task,
    /** The same store, but reads of a task withhold results of sensitive tools. */
    ofTasks(gatedCalls: GatedCalls, tools: ToolLookup): GatedCalls {
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
  // An error text may hold parts of the result.
  return result.kind === 'error' ? { kind: 'error', code: result.code, message: WITHHELD_ERROR } : result;
}

/** Keeps only members that are known to reveal nothing. */
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
