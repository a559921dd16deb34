import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from '@jest/globals';
import type { Stack } from './stack.ts';
import { REVISION } from './gateway-wire.ts';
import { patiently } from './wait-for.ts';

/** The revisions that the official client of earlier revisions supports. */
export const EARLIER_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

export const clientInfo = { name: 'foreign', version: '0' };
const NEXT_STEP = 'dev.countersign/next-step';

/**
 * The earlier client always offers its newest revision, and has no setting for another one. So this class replaces the
 * revision.
 */
class TransportOf extends EarlierTransport {
  readonly #revision: string;

  constructor(revision: string, ...of: ConstructorParameters<typeof EarlierTransport>) {
    super(...of);
    this.#revision = revision;
  }

  override send(...[message, options]: Parameters<EarlierTransport['send']>): Promise<void> {
    if (Array.isArray(message) || !('method' in message) || message.method !== 'initialize')
      return super.send(message, options);
    const params = { ...message.params, protocolVersion: this.#revision };
    return super.send({ ...message, params }, options);
  }
}

/** A gateway that clients reach as the agent. */
type Reached = Pick<Stack, 'token'> & { readonly config: { readonly urls: { readonly mcp: string } } };

const requestInitOf = async (stack: Reached) => ({
  headers: { authorization: `Bearer ${await stack.token('agent')}` },
});

/** The official client of earlier revisions, which has offered this one, as the agent. */
export async function connectEarlier(
  stack: Reached,
  revision: (typeof EARLIER_REVISIONS)[number],
  capabilities: NonNullable<ClientOptions['capabilities']> = {},
) {
  const client = new EarlierClient(clientInfo, { capabilities });
  const transport = new TransportOf(revision, new URL(stack.config.urls.mcp), {
    requestInit: await requestInitOf(stack),
  });
  await client.connect(transport);
  return { client, agreed: () => transport.protocolVersion };
}

/** The official client of the present revision, with these capabilities, as the agent. */
export async function connectPresent(
  stack: Reached,
  capabilities: NonNullable<ClientOptions['capabilities']> = {},
  info = clientInfo,
) {
  const client = new Client(info, { capabilities, versionNegotiation: { mode: { pin: REVISION } } });
  const requestInit = await requestInitOf(stack);
  await client.connect(new StreamableHTTPClientTransport(new URL(stack.config.urls.mcp), { requestInit }));
  return client;
}

/** The common reading of both clients for the answer to a call. */
export interface ToolAnswer {
  readonly isError?: boolean | undefined;
  readonly content?: unknown;
  readonly _meta?: Record<string, unknown> | undefined;
}
export type CallTool = (call: { name: string; arguments: Record<string, unknown> }) => Promise<ToolAnswer>;

export const wordsOf = ({ content }: ToolAnswer) =>
  (content as { text?: string }[]).map(({ text }) => text ?? '').join('\n');

/** The next step in an answer: a tool, and its arguments if they are known already. */
export const nextStepOf = ({ _meta }: ToolAnswer) =>
  (_meta?.[NEXT_STEP] ?? {}) as { tool: string; statusTool?: string; arguments: Record<string, unknown> };

/** Settings for clients that take each step by themselves: a call that needs an approval requests nothing, and nothing waits. */
export const STEP_BY_STEP = { requestByItself: false, waitSeconds: 0 };

/** Has the open request approved, follows the answer's instructions until the call has ended, and answers that end. */
export async function approvedEnd(stack: Stack, callTool: CallTool, requested: ToolAnswer): Promise<ToolAnswer> {
  const { tool: name, arguments: args } = nextStepOf(requested);
  const look = () => callTool({ name, arguments: args });
  expect(wordsOf(await patiently(look))).toMatch(/has not run/);
  const [request] = await stack.openRequests(1);
  expect((await stack.decide(request, { verdict: 'approve' })).status).toBe(200);
  return patiently(async () => {
    const answer = await look();
    return nextStepOf(answer).tool === undefined ? answer : undefined;
  });
}
