import type { Upstreams } from '../../../workflows/domain/ports.ts';
import { verbatimTool } from '../wire/sdk-overlay.ts';

/** Every tool that can be reached now, as its upstream describes it, under its public name. */
export async function listTools(upstreams: Pick<Upstreams, 'tools'>): Promise<Record<string, unknown>[]> {
  const tools = await upstreams.tools();
  return tools.map(({ name, definition }) => verbatimTool({ ...definition, name }));
}
