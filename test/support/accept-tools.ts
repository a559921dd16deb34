import type { Pool } from 'pg';
import { createToolPins } from '../../activities/stores/tool-pins.ts';
import type { UpstreamTool } from '../../workflows/domain/ports.ts';
import { openUpstreams } from './upstreams.ts';

/** The tools of these upstreams as they are described in this moment. */
export async function toolsOf(mcpServers: object): Promise<readonly UpstreamTool[]> {
  const upstreams = openUpstreams(mcpServers);
  try {
    return await upstreams.tools();
  } finally {
    await upstreams.close();
  }
}

/** What an operator does who accepts the tools as they are described in this moment. */
export async function acceptTools(pool: Pool, mcpServers: object): Promise<void> {
  await createToolPins(pool).accept(await toolsOf(mcpServers), []);
}
