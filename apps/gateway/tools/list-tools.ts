import type { Upstreams } from '../../../workflows/domain/ports.ts';
import { publishedTool } from '../wire/published-tool.ts';

/** Every tool that can be reached now, as clients see it. */
export async function listTools(upstreams: Pick<Upstreams, 'tools'>): Promise<Record<string, unknown>[]> {
  return (await upstreams.tools()).map(publishedTool);
}
