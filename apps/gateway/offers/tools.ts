import type { Server } from '@modelcontextprotocol/server';
import type { Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import type { AcceptedTools } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { Redaction } from '../extensions/redaction.ts';
import { publishedTools } from '../wire/published.ts';
import type { Rendering } from '../wire/rendering.ts';
import type { RequestContext } from '../wire/request-context.ts';

export interface ToolListDeps {
  readonly upstreams: Pick<Upstreams, 'tools'>;
  readonly accepted: AcceptedTools;
  readonly redaction: Pick<Redaction, 'withholds'>;
  readonly rendering: Rendering;
}

/** `tools/list`. */
export function registerToolList(server: Server, deps: ToolListDeps, { guarded }: RequestContext): void {
  server.setRequestHandler('tools/list', () =>
    guarded('tools/list', async () => ({ tools: (await listTools(deps)) as never })),
  );
}

/**
 * Every tool that can be reached now and is as it was accepted, as clients see it, and our own: no list leaves the signature
 * (SIG-004). A list depends on nothing that a request declares (SESSION-002).
 */
async function listTools(deps: ToolListDeps): Promise<Record<string, unknown>[]> {
  const { upstreams, accepted, redaction, rendering } = deps;
  return publishedTools(await accepted.among(await upstreams.tools()), redaction, rendering);
}
