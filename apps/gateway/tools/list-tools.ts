import type { Upstreams } from '../../../workflows/domain/ports.ts';
import type { AcceptedTools } from '../../../workflows/domain/tools/signature.ts';
import type { Redaction } from '../redaction.ts';
import { publishedTool } from '../wire/published-tool.ts';

export interface ToolListDeps {
  readonly upstreams: Pick<Upstreams, 'tools'>;
  readonly signature: AcceptedTools;
  readonly redaction: Pick<Redaction, 'withholds'>;
}

/** Every tool that can be reached now and is as it was accepted, as clients see it: no list leaves the signature (SIG-004). */
export async function listTools({ upstreams, signature, redaction }: ToolListDeps): Promise<Record<string, unknown>[]> {
  const tools = await signature.among(await upstreams.tools());
  return tools.map((tool) => publishedTool(tool, redaction.withholds(tool.facts)));
}
