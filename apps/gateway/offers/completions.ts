import type { CompleteResult, Server } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { UpstreamItem, UpstreamItems } from '../../../workflows/domain/upstream-ports.ts';
import type { EnforceRead } from './read.ts';
import { renderRead } from '../wire/upstream-result.ts';
import { type RequestContext, forwardedMeta } from '../wire/request-context.ts';

export interface CompletionMethodDeps {
  readonly enforceRead: EnforceRead;
  readonly items: Pick<UpstreamItems, 'find'>;
}

type Reference =
  { readonly type: 'ref/prompt'; readonly name: string } | { readonly type: 'ref/resource'; readonly uri: string };

/** `completion/complete`: asks the upstream of the prompt or the template whose argument is being written. */
export function registerCompletionMethods(server: Server, deps: CompletionMethodDeps, from: RequestContext): void {
  const { guarded } = from;
  server.setRequestHandler('completion/complete', ({ params }, ctx) =>
    guarded('completion/complete', async () => {
      const { ref, argument, context, _meta } = params;
      const item = await find(deps.items, ref);
      const meta = forwardedMeta(_meta);
      const answer = await deps.enforceRead({
        sender: from,
        of: [item],
        method: 'completion/complete',
        asks: { ref: { ...ref } },
        params: {
          ref: ref.type === 'ref/prompt' ? { ...ref, name: item.upstreamName } : { ...ref },
          argument,
          ...(context !== undefined && { context: context as JsonObject }),
          ...(meta !== undefined && { _meta: meta }),
        },
        signal: ctx.mcpReq.signal,
      });
      return renderRead(answer) as CompleteResult;
    }),
  );
}

async function find(items: CompletionMethodDeps['items'], ref: Reference): Promise<UpstreamItem> {
  if (ref.type === 'ref/prompt') {
    const prompt = await items.find('prompt', ref.name);
    if (prompt === undefined) throw new CountersignError('ERR_PROMPT_NOT_FOUND', 'no upstream has this prompt');
    return prompt;
  }
  const resource = (await items.find('resource_template', ref.uri)) ?? (await items.find('resource', ref.uri));
  if (resource === undefined) throw new CountersignError('ERR_RESOURCE_NOT_FOUND', 'no upstream has this resource');
  return resource;
}
