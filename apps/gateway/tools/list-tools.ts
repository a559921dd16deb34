import type { Upstreams } from '../../../workflows/domain/ports.ts';
import type { Redaction } from '../redaction.ts';
import { publishedTool } from '../wire/published-tool.ts';

/** Every tool that can be reached now, as clients see it. */
export async function listTools(
  upstreams: Pick<Upstreams, 'tools'>,
  redaction: Pick<Redaction, 'withholds'>,
): Promise<Record<string, unknown>[]> {
  return (await upstreams.tools()).map((tool) => publishedTool(tool, redaction.withholds(tool.facts)));
}
