import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { UpstreamTask } from '../../workflows/domain/relay.ts';
import type { InvocationResult, ResultCheck, UpstreamTool } from '../../workflows/domain/upstream-ports.ts';

const MISFIT: JsonObject = {
  type: 'text',
  text:
    'The tool ran, but its structured result is not what its output schema promises, and is left out here. ' +
    'A change may have been made; check before trying again.',
};

/**
 * A result that keeps the tool's promise, unchanged; of any other, all but the structured part, as an error: whoever reads it as
 * the schema says would read something else. An error need not have a structured part.
 *
 * @returns `undefined` when nothing was left out.
 * @see MCP 2026-07-28, Tools, Output Schema (TOOL-003)
 */
export function withoutMisfit(
  answer: InvocationResult,
  tool: UpstreamTool | undefined,
  fitsOutput: ResultCheck,
): InvocationResult | undefined {
  if (answer.kind !== 'result' || tool?.definition['outputSchema'] === undefined) return undefined;
  const { structuredContent, content, ...rest } = answer.result;
  const fits = structuredContent === undefined ? answer.isError : fitsOutput(tool, structuredContent);
  if (fits) return undefined;
  const blocks = [...((content ?? []) as readonly Json[]), MISFIT];
  return { kind: 'result', isError: true, result: { ...rest, content: blocks, isError: true } };
}

/** The same of the result that a task has come to. */
export function taskWithoutMisfit(
  task: UpstreamTask,
  tool: UpstreamTool | undefined,
  fitsOutput: ResultCheck,
): UpstreamTask | undefined {
  const { result } = task;
  if (result === undefined) return undefined;
  const fitted = withoutMisfit({ kind: 'result', isError: result['isError'] === true, result }, tool, fitsOutput);
  return fitted?.kind === 'result' ? { ...task, result: fitted.result } : undefined;
}
