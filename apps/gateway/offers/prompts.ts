import type { GetPromptResult, Server } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { UpstreamItems } from '../../../workflows/domain/upstream-ports.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { EnforceRead } from './read.ts';
import { pageOf, publishedItem } from '../wire/published.ts';
import { renderRead } from '../wire/upstream-result.ts';
import { type RequestContext, forwardedMeta, askedBy } from '../wire/request-context.ts';

export interface PromptMethodDeps {
  readonly enforceRead: EnforceRead;
  readonly items: Pick<UpstreamItems, 'list' | 'find'>;
  readonly accepted: Accepted;
}

/** `prompts/list` and `prompts/get`. */
export function registerPromptMethods(server: Server, deps: PromptMethodDeps, context: RequestContext): void {
  const { guarded } = context;
  server.setRequestHandler('prompts/list', ({ params }) =>
    guarded('prompts/list', async () => {
      const listed = await deps.accepted.among(await deps.items.list('prompt'));
      const { items, ...more } = pageOf(listed, params?.cursor);
      return { prompts: items.map(publishedItem) as never, ...more };
    }),
  );
  server.setRequestHandler('prompts/get', ({ params }, ctx) =>
    guarded('prompts/get', async () => {
      const { name, arguments: args, _meta } = params;
      const prompt = await deps.items.find('prompt', name);
      if (prompt === undefined) throw new CountersignError('ERR_PROMPT_NOT_FOUND', 'no upstream has this prompt');
      const given = args === undefined ? {} : { arguments: args as JsonObject };
      const meta = forwardedMeta(_meta);
      const answer = await deps.enforceRead({
        sender: context,
        of: [prompt],
        method: 'prompts/get',
        asks: { name, ...given },
        params: { name: prompt.upstreamName, ...given, ...(meta !== undefined && { _meta: meta }) },
        asked: askedBy(context, ctx),
        signal: ctx.mcpReq.signal,
      });
      return renderRead(answer) as GetPromptResult;
    }),
  );
}
