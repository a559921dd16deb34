import type { Server } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Accepted, AcceptedTools } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { ReadMethod, UpstreamItem, UpstreamItems, Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import type { Sender } from '../calls/extension-ports.ts';
import type { Redaction } from '../extensions/redaction.ts';
import { handOnRound, orUndeclared } from '../extensions/relayed-rounds.ts';
import { openRound, readScope, type SealedStates } from '../extensions/sealed-state.ts';
import type { Authorize } from '../mcp/authorize.ts';
import { publishedTools } from '../wire/published.ts';
import type { Rendering } from '../wire/rendering.ts';
import { type Asked, conversationOf, type RequestContext } from '../wire/request-context.ts';
import type { ReadAnswer } from '../wire/upstream-result.ts';

interface ReadEnforcementDeps {
  readonly authorize: Authorize;
  readonly items: Pick<UpstreamItems, 'ask'>;
  readonly accepted: Accepted;
  readonly sealedStates: SealedStates;
  readonly settings: {
    /** Limit on one forwarded request. */
    readonly executionTimeoutMs: number;
  };
}

/** One request of an authenticated caller for something that an upstream has beside tools. */
interface UpstreamRead {
  readonly sender: Sender;
  /** What of one upstream is read: one thing, or each of the templates that an address may be of. */
  readonly of: readonly [UpstreamItem, ...UpstreamItem[]];
  readonly method: ReadMethod;
  /** As the client said them: what is asked about. */
  readonly asks: JsonObject;
  /** As the upstream gets them. */
  readonly params: JsonObject;
  /** Of a method whose upstream may ask for input. */
  readonly asked?: Asked;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
}

/**
 * The policy enforcement point for everything that is no tool. Only an allow lets a request through, each time that it comes;
 * what could be requested is refused as well, because only a tool call can wait as a task. Throws `CountersignError`s; then
 * nothing was sent.
 */
export type EnforceRead = (read: UpstreamRead) => Promise<ReadAnswer>;

export function createReadEnforcement(deps: ReadEnforcementDeps): EnforceRead {
  const { authorize, items, accepted, sealedStates, settings } = deps;
  return async ({ sender, of, method, asks, params, asked, signal }) => {
    const { caller } = sender;
    // Each of them: which of its templates an address is of is for the upstream to say, and it may be the one that changed.
    if ((await accepted.among(of)).length < of.length) {
      throw new CountersignError('ERR_NOT_ACCEPTED', 'it is not described as it was accepted');
    }
    const [{ upstream }] = of;
    const request = { upstream, method, params };
    const state = asked?.requestState;
    const round = state === undefined ? undefined : await openRound(sealedStates, readScope(caller, request), state);
    await authorize(sender, method, asks);
    const conversation = asked && conversationOf(asked, round);
    const answer = await items.ask(
      { ...request, caller, ...(conversation !== undefined && { conversation }) },
      { signal, timeoutMs: settings.executionTimeoutMs },
    );
    if (answer.kind === 'error' && asked !== undefined) return orUndeclared(answer, asked);
    if (answer.kind !== 'input_required') return answer;
    return handOnRound(sealedStates, readScope(caller, request), asked ?? { capabilities: {} }, answer);
  };
}

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
