import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { isObject, type Json, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { RequestContext } from './request-context.ts';

/** The revision of a client without a session that names none. @see MCP 2025-06-18, transports, protocol version header */
const UNNAMED = '2025-03-26';

/** The kinds of content, each with the first revision that has it. */
const CONTENT: Readonly<Record<string, string>> = {
  text: '2024-11-05',
  image: '2024-11-05',
  resource: '2024-11-05',
  audio: '2025-03-26',
  resource_link: '2025-06-18',
};

/** The revision of the client of a request of an earlier revision. */
export const earlierRevisionOf = ({ session }: Pick<RequestContext, 'session'>, { http }: ServerContext): string =>
  session?.revision ?? http?.req?.headers.get('mcp-protocol-version') ?? UNNAMED;

/**
 * The result of a call without the values that an earlier revision does not know. Its clients reject the whole answer for one such value,
 * after the tool ran. What is left out stands as JSON in a text, so it is not lost.
 */
export function inEarlierRevision(result: CallToolResult, revision: string): CallToolResult {
  const { structuredContent: structured, ...rest } = result;
  // An upstream of ours may send anything, also no list.
  const blocks: readonly unknown[] = Array.isArray(rest.content) ? rest.content : [];
  const content = blocks.map((block) => {
    const { type } = objectOf(block) as { type?: Json };
    const since = typeof type === 'string' && Object.hasOwn(CONTENT, type) ? CONTENT[type] : undefined;
    return since !== undefined && since <= revision ? (block as CallToolResult['content'][number]) : textOf(block);
  });
  // Only the present revision has structured results other than objects.
  if (structured === undefined || isObject(structured)) return { ...result, content };
  return { ...rest, content: structured === null ? content : withJson(content, structured) };
}

const textOf = (value: unknown) => ({ type: 'text' as const, text: JSON.stringify(value) });

/** The content, and the structured result as a text before it, where no text of the tool repeats it already. */
export function withJson(content: CallToolResult['content'], structured: unknown): CallToolResult['content'] {
  const json = textOf(structured);
  return content.some((block) => block.type === 'text' && block.text === json.text) ? content : [json, ...content];
}
