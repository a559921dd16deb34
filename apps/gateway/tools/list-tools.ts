import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Upstreams } from '../../../workflows/domain/ports.ts';
import { verbatimTool } from '../wire/sdk-overlay.ts';

/** Every tool that can be reached now, as its upstream describes it, under its public name. */
export async function listTools(upstreams: Pick<Upstreams, 'tools'>): Promise<Record<string, unknown>[]> {
  const tools = await upstreams.tools();
  return tools.map(({ name, definition }) => verbatimTool({ ...withoutTaskSupport(definition), name }));
}

/** An upstream speaks of its own tasks, which an agent that talks to the gateway cannot use. */
function withoutTaskSupport(definition: JsonObject): JsonObject {
  const { execution, ...rest } = definition;
  if (typeof execution !== 'object' || execution === null || Array.isArray(execution)) return definition;
  const { taskSupport: _taskSupport, ...others } = execution as JsonObject;
  return Object.keys(others).length > 0 ? { ...rest, execution: others } : rest;
}
