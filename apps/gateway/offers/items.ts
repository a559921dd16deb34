import type { CompleteResult, GetPromptResult, ReadResourceResult, Result, Server } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import {
  type AskableClient,
  ITEM_LISTS,
  type ItemKind,
  type ReadMethod,
  type UpstreamItem,
  type UpstreamItems,
  type Upstreams,
} from '../../../workflows/domain/upstream-ports.ts';
import type { ForwardingSettings } from '../calls/tool-call.ts';
import type { Redaction } from '../extensions/redaction.ts';
import { handOnRound, orUndeclared } from '../extensions/relayed-rounds.ts';
import { openRound, readScope, type SealedStates } from '../extensions/sealed-state.ts';
import { ownItems } from '../card/card.ts';
import type { Authorize } from '../mcp/authorize.ts';
import { unknownResource } from '../wire/errors.ts';
import { CARD_ADDRESS } from '../wire/identifiers.ts';
import { pageOf, publishedItem, publishedTools } from '../wire/published.ts';
import type { Rendering } from '../wire/rendering.ts';
import type { AskableOf } from '../sessions/askable.ts';
import type { Converse } from '../sessions/converse.ts';
import { forwardedMeta } from '../wire/forwarded-meta.ts';
import { type Asked, type ContextOf, conversationOf, type Sender } from '../wire/request-context.ts';
import { type ReadAnswer, renderRead } from '../wire/upstream-result.ts';

interface ReadEnforcementDeps {
  readonly authorize: Authorize;
  readonly upstreams: { readonly items: Pick<UpstreamItems, 'ask'> };
  readonly accepted: Accepted;
  readonly sealedStates: SealedStates;
  readonly settings: ForwardingSettings;
}

/** One request of an authenticated caller to read a prompt, a resource or a completion. */
interface UpstreamRead {
  readonly sender: Sender;
  /** What of one upstream is read: one item, or each template that the address may belong to. */
  readonly of: readonly [UpstreamItem, ...UpstreamItem[]];
  readonly method: ReadMethod;
  /** The parameters as the client sent them. The PDP is asked about these. */
  readonly asks: JsonObject;
  /** The parameters as the upstream gets them, without metadata. */
  readonly params: JsonObject;
  /** The client's metadata. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  /** Present for a method whose upstream may ask for input. */
  readonly asked?: Asked;
  /** Whom an upstream of an earlier revision may ask meanwhile. */
  readonly askable?: AskableClient | undefined;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
}

/**
 * The policy enforcement point for prompts, resources and completions. Only an "allow" lets a request through, and each request is
 * decided anew. A requestable denial is refused too, because only a tool call can wait as a task. Throws the upstream's own error, and
 * `CountersignError`s, after which nothing was sent.
 */
export const createReadEnforcement = (deps: ReadEnforcementDeps) => async (read: UpstreamRead) =>
  renderRead(await answerTo(deps, read));

async function answerTo(
  { authorize, upstreams, accepted, sealedStates, settings }: ReadEnforcementDeps,
  { sender, of, method, asks, params, meta, asked, askable, signal }: UpstreamRead,
): Promise<ReadAnswer> {
  const { caller } = sender;
  // Every one of them: the upstream picks the template that the address belongs to, and it may pick one that changed.
  if ((await accepted.among(of)).length < of.length) {
    throw new CountersignError('ERR_NOT_ACCEPTED', 'its description is not the accepted one');
  }
  const forwarded = forwardedMeta(meta);
  const [{ upstream, connection }] = of;
  const request = { upstream, method, params: { ...params, ...(forwarded !== undefined && { _meta: forwarded }) } };
  const state = asked?.requestState;
  const round = state === undefined ? undefined : await openRound(sealedStates, readScope(caller, request), state);
  await authorize(sender, method, asks);
  const conversation = asked && conversationOf(asked, round);
  const answer = await upstreams.items.ask(
    {
      ...request,
      caller,
      ...(conversation !== undefined && { conversation }),
      ...(connection !== undefined && { connection }),
    },
    { signal, timeoutMs: settings.executionTimeoutMs, askable },
  );
  if (answer.kind === 'error' && asked !== undefined) return orUndeclared(answer, asked);
  if (answer.kind !== 'input_required') return answer;
  return handOnRound(sealedStates, readScope(caller, request), asked ?? { capabilities: {} }, answer);
}

export interface ToolListDeps {
  readonly upstreams: Pick<Upstreams, 'tools'>;
  readonly accepted: Accepted;
  readonly redaction: Pick<Redaction, 'withholds'>;
  readonly rendering: Rendering;
}

/**
 * `tools/list`: every tool that can be reached and matches its accepted description, and the gateway's own tools. No list has more than
 * the signature (SIG-004), and a list depends on nothing that a request declares but its revision (SESSION-002).
 */
export function registerToolList(server: Server, deps: ToolListDeps, contextOf: ContextOf): void {
  const { upstreams, accepted, redaction, rendering } = deps;
  server.setRequestHandler('tools/list', (_request, ctx) => {
    const { guarded, isModern } = contextOf(ctx);
    return guarded('tools/list', async () => {
      const tools = await accepted.among(await upstreams.tools());
      return { tools: publishedTools(tools, redaction, { ...rendering, isModern }) as never };
    });
  });
}

export interface ItemMethodDeps {
  /** The card of a held call, the only resource of the gateway itself. */
  readonly readCard: () => ReadResourceResult;
  readonly converse: Converse;
  readonly askableOf: AskableOf;
  readonly enforceRead: (read: UpstreamRead) => Promise<Result>;
  readonly upstreams: { readonly items: Pick<UpstreamItems, 'list' | 'find' | 'findResource'> };
  readonly accepted: Accepted;
}

/** The lists of these kinds: the items that can be reached and match their accepted description, and the gateway's own, page by page. */
function registerLists(
  server: Server,
  { upstreams: { items }, accepted }: ItemMethodDeps,
  contextOf: ContextOf,
  kinds: readonly ItemKind[],
): void {
  for (const kind of kinds) {
    const { method, member } = ITEM_LISTS[kind];
    server.setRequestHandler(method as 'prompts/list', ({ params }, ctx) =>
      contextOf(ctx).guarded(method, async () => {
        const offered = [...(await accepted.among(await items.list(kind))), ...ownItems(kind)];
        const sorted = offered.sort((a, b) => (a.name < b.name ? -1 : 1));
        const { items: listed, ...more } = pageOf(sorted, params?.cursor);
        return { [member]: listed.map(publishedItem), ...more } as never;
      }),
    );
  }
}

/** `prompts/list` and `prompts/get`. */
export function registerPromptMethods(server: Server, deps: ItemMethodDeps, contextOf: ContextOf): void {
  registerLists(server, deps, contextOf, ['prompt']);
  server.setRequestHandler('prompts/get', ({ params }, ctx) => {
    const context = contextOf(ctx);
    return context.guarded('prompts/get', async () => {
      const { name, arguments: args, _meta: meta } = params;
      const prompt = await findPrompt(deps.upstreams.items, name);
      const given = args === undefined ? {} : { arguments: args as JsonObject };
      const read = {
        sender: context,
        of: [prompt] as const,
        method: 'prompts/get' as const,
        asks: { name, ...given },
        params: { name: prompt.upstreamName, ...given },
        meta,
        askable: deps.askableOf({ context, ctx }),
        signal: ctx.mcpReq.signal,
      };
      return (await deps.converse({ context, ctx, of: 'read' }, (asked) =>
        answered(deps, read, asked),
      )) as GetPromptResult;
    });
  });
}

/** `resources/list`, `resources/templates/list` and `resources/read`. Addresses are the upstream's own. */
export function registerResourceMethods(server: Server, deps: ItemMethodDeps, contextOf: ContextOf): void {
  registerLists(server, deps, contextOf, ['resource', 'resource_template']);
  server.setRequestHandler('resources/read', ({ params }, ctx) => {
    const context = contextOf(ctx);
    return context.guarded('resources/read', async () => {
      const { uri, _meta: meta } = params;
      // The gateway's own: no upstream is asked for it, and no policy, as for the gateway's own tools.
      if (uri === CARD_ADDRESS) return deps.readCard();
      const [first, ...others] = await deps.upstreams.items.findResource(uri);
      if (first === undefined) throw unknownResource(uri);
      const read = {
        sender: context,
        of: [first, ...others] as const,
        method: 'resources/read' as const,
        asks: { uri },
        params: { uri },
        meta,
        askable: deps.askableOf({ context, ctx }),
        signal: ctx.mcpReq.signal,
      };
      return (await deps.converse({ context, ctx, of: 'read' }, (asked) =>
        answered(deps, read, asked),
      )) as ReadResourceResult;
    });
  });
}

/** One round of a read. The gateway itself asks nothing for it. */
const answered = async (
  { enforceRead }: Pick<ItemMethodDeps, 'enforceRead'>,
  read: Omit<UpstreamRead, 'asked'>,
  asked: Asked,
) => ({ result: await enforceRead({ ...read, asked }), isOurs: false });

/** `completion/complete`: asks the upstream of the prompt or the template whose argument is being completed. */
export function registerCompletionMethods(server: Server, deps: ItemMethodDeps, contextOf: ContextOf): void {
  server.setRequestHandler('completion/complete', ({ params }, ctx) => {
    const sender = contextOf(ctx);
    return sender.guarded('completion/complete', async () => {
      const { ref, argument, context, _meta: meta } = params;
      const item = await (ref.type === 'ref/prompt'
        ? findPrompt(deps.upstreams.items, ref.name)
        : findResource(deps.upstreams.items, ref.uri));
      return (await deps.enforceRead({
        sender,
        of: [item],
        method: 'completion/complete',
        asks: { ref: { ...ref } },
        params: {
          ref: ref.type === 'ref/prompt' ? { ...ref, name: item.upstreamName } : { ...ref },
          argument,
          ...(context !== undefined && { context: context as JsonObject }),
        },
        meta,
        signal: ctx.mcpReq.signal,
      })) as CompleteResult;
    });
  });
}

type Find = Pick<UpstreamItems, 'find'>;

async function findPrompt(items: Find, name: string): Promise<UpstreamItem> {
  const prompt = await items.find('prompt', name);
  if (prompt === undefined) throw new CountersignError('ERR_PROMPT_NOT_FOUND', 'no upstream has this prompt');
  return prompt;
}

async function findResource(items: Find, uri: string): Promise<UpstreamItem> {
  const resource = (await items.find('resource_template', uri)) ?? (await items.find('resource', uri));
  if (resource === undefined) throw new CountersignError('ERR_RESOURCE_NOT_FOUND', 'no upstream has this resource');
  return resource;
}
