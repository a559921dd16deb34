import type { GetPromptResult, Server, ReadResourceResult, CompleteResult } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { ItemKind, UpstreamItem, UpstreamItems } from '../../../workflows/domain/upstream-ports.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { EnforceRead } from './read.ts';
import { pageOf, publishedItem } from '../wire/published.ts';
import { renderRead } from '../wire/upstream-result.ts';
import { forwardedMeta, askedBy, type RequestContext } from '../wire/request-context.ts';
import { unknownResource } from '../wire/errors.ts';

export interface ItemMethodDeps {
  readonly enforceRead: EnforceRead;
  readonly items: Pick<UpstreamItems, 'list' | 'find' | 'findResource'>;
  readonly accepted: Accepted;
}

/** One page of what can be reached now and is as it was accepted. */
async function listed({ items, accepted }: ItemMethodDeps, kind: ItemKind, cursor: string | undefined) {
  const page = pageOf(await accepted.among(await items.list(kind)), cursor);
  return { ...page, items: page.items.map(publishedItem) as never };
}

/** `prompts/list` and `prompts/get`. */
export function registerPromptMethods(server: Server, deps: ItemMethodDeps, context: RequestContext): void {
  const { guarded } = context;
  server.setRequestHandler('prompts/list', ({ params }) =>
    guarded('prompts/list', async () => {
      const { items, ...more } = await listed(deps, 'prompt', params?.cursor);
      return { prompts: items, ...more };
    }),
  );
  server.setRequestHandler('prompts/get', ({ params }, ctx) =>
    guarded('prompts/get', async () => {
      const { name, arguments: args, _meta } = params;
      const prompt = await findPrompt(deps.items, name);
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

/** `resources/list`, `resources/templates/list` and `resources/read`. Addresses are the upstream's own. */
export function registerResourceMethods(server: Server, deps: ItemMethodDeps, context: RequestContext): void {
  const { guarded } = context;
  server.setRequestHandler('resources/list', ({ params }) =>
    guarded('resources/list', async () => {
      const { items, ...more } = await listed(deps, 'resource', params?.cursor);
      return { resources: items, ...more };
    }),
  );
  server.setRequestHandler('resources/templates/list', ({ params }) =>
    guarded('resources/templates/list', async () => {
      const { items, ...more } = await listed(deps, 'resource_template', params?.cursor);
      return { resourceTemplates: items, ...more };
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

type Reference =
  { readonly type: 'ref/prompt'; readonly name: string } | { readonly type: 'ref/resource'; readonly uri: string };

/** `completion/complete`: asks the upstream of the prompt or the template whose argument is being written. */
export function registerCompletionMethods(server: Server, deps: ItemMethodDeps, from: RequestContext): void {
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

async function findPrompt(items: Pick<ItemMethodDeps['items'], 'find'>, name: string): Promise<UpstreamItem> {
  const prompt = await items.find('prompt', name);
  if (prompt === undefined) throw new CountersignError('ERR_PROMPT_NOT_FOUND', 'no upstream has this prompt');
  return prompt;
}

async function find(items: ItemMethodDeps['items'], ref: Reference): Promise<UpstreamItem> {
  if (ref.type === 'ref/prompt') return findPrompt(items, ref.name);
  const resource = (await items.find('resource_template', ref.uri)) ?? (await items.find('resource', ref.uri));
  if (resource === undefined) throw new CountersignError('ERR_RESOURCE_NOT_FOUND', 'no upstream has this resource');
  return resource;
}
