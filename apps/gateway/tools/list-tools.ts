import type { Upstreams } from '../../../workflows/domain/ports.ts';
import type { AcceptedTools } from '../../../workflows/domain/tools/signature.ts';
import type { Redaction } from '../redaction.ts';
import { OWN_TOOL_DEFINITIONS } from '../wire/own-tools.ts';
import { publishedTool } from '../wire/published-tool.ts';
import type { Rendering } from '../wire/rendering.ts';

export interface ToolListDeps {
  readonly upstreams: Pick<Upstreams, 'tools'>;
  readonly signature: AcceptedTools;
  readonly redaction: Pick<Redaction, 'withholds'>;
  readonly rendering: Rendering;
}

/**
 * Every tool that can be reached now and is as it was accepted, as clients see it, and our own: no list leaves the signature
 * (SIG-004). A list depends on nothing that a request declares (SESSION-002).
 */
export async function listTools(deps: ToolListDeps): Promise<Record<string, unknown>[]> {
  const { upstreams, signature, redaction, rendering } = deps;
  const tools = await signature.among(await upstreams.tools());
  const published = tools.map((tool) => publishedTool(tool, redaction.withholds(tool.facts)));
  return rendering.requestTools ? [...published, ...OWN_TOOL_DEFINITIONS] : published;
}
