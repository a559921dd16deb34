import type { ReadResourceResult, Server } from '@modelcontextprotocol/server';
import type { UpstreamItems } from '../../../workflows/domain/upstream-ports.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { EnforceRead } from './read.ts';
import { unknownResource } from '../wire/errors.ts';
import { pageOf, publishedItem } from '../wire/published.ts';
import { renderRead } from '../wire/upstream-result.ts';
import { type RequestContext, forwardedMeta, askedBy } from '../wire/request-context.ts';

export interface ResourceMethodDeps {
  readonly enforceRead: EnforceRead;
  readonly items: Pick<UpstreamItems, 'list' | 'findResource'>;
  readonly accepted: Accepted;
}

/** `resources/list`, `resources/templates/list` and `resources/read`. Addresses are the upstream's own. */
export function registerResourceMethods(server: Server, deps: ResourceMethodDeps, context: RequestContext): void {
  const { guarded } = context;
  server.setRequestHandler('resources/list', ({ params }) =>
    guarded('resources/list', async () => {
      const listed = await deps.accepted.among(await deps.items.list('resource'));
      const { items, ...more } = pageOf(listed, params?.cursor);
      return { resources: items.map(publishedItem) as never, ...more };
    }),
  );
  server.setRequestHandler('resources/templates/list', ({ params }) =>
    guarded('resources/templates/list', async () => {
      const listed = await deps.accepted.among(await deps.items.list('resource_template'));
      const { items, ...more } = pageOf(listed, params?.cursor);
      return { resourceTemplates: items.map(publishedItem) as never, ...more };
    }),
  );
  server.setRequestHandler('resources/read', ({ params }, ctx) =>
    guarded('resources/read', async () => {
      const { uri, _meta } = params;
      const [first, ...others] = await deps.items.findResource(uri);
      if (first === undefined) throw unknownResource(uri);
      const meta = forwardedMeta(_meta);
      const answer = await deps.enforceRead({
        sender: context,
        of: [first, ...others],
        method: 'resources/read',
        asks: { uri },
        params: { uri, ...(meta !== undefined && { _meta: meta }) },
        asked: askedBy(context, ctx),
        signal: ctx.mcpReq.signal,
      });
      return renderRead(answer) as ReadResourceResult;
    }),
  );
}
