import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/client';
import { type JsonObject, isObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import {
  type MirroredArgument,
  mirroredArguments,
  mirroredValue,
} from '../../../workflows/domain/tools/mirrored-arguments.ts';
import { ENCODED_VALUE, MIRROR_HEADER_PREFIX } from '../../../workflows/domain/tools/wire-names.ts';

/** Where the body has what the header `Mcp-Name` repeats. @see SEP-2243 and SEP-2663 */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
/** Texts that a header can hold unencoded. A reader would remove space at the ends. */
const PLAIN = /^(?! |\t)[\t\x20-\x7e]*(?<! |\t)$/;

/** The revision in a message of 2026-07-28 or later. Messages of earlier revisions have none: it was agreed for their session. */
export function revisionIn({ params }: JsonObject): string | undefined {
  const revision = objectOf(objectOf(params)['_meta'])[PROTOCOL_VERSION_META_KEY];
  return typeof revision === 'string' ? revision : undefined;
}

/** The headers in which a message of this revision repeats its body over HTTP; a program that speaks stdio has none. */
export function headersOf(message: JsonObject, revision: string, tools: MirroredTools): Record<string, string> {
  const { method } = message;
  if (typeof method !== 'string') return { 'mcp-protocol-version': revision };
  const params = objectOf(message['params']);
  const name = Object.hasOwn(NAMED_BY, method) ? params[NAMED_BY[method] ?? ''] : undefined;
  return {
    'mcp-protocol-version': revision,
    'mcp-method': encoded(method),
    ...(typeof name === 'string' && { 'mcp-name': encoded(name) }),
    ...(method === 'tools/call' && tools.headersOf(name, objectOf(params['arguments']))),
  };
}

function encoded(text: string): string {
  const { start, end } = ENCODED_VALUE;
  // A text that looks encoded would be decoded.
  const isPlain = PLAIN.test(text) && !(text.startsWith(start) && text.endsWith(end));
  return isPlain ? text : `${start}${Buffer.from(text, 'utf8').toString('base64')}${end}`;
}

/** The arguments that calls repeat in headers, as lists of tools have declared them. */
export class MirroredTools {
  readonly #tools = new Map<unknown, readonly MirroredArgument[]>();

  /** Takes the tools of a page of a list. The first page takes the place of an earlier list. */
  learn(tools: readonly unknown[], isFirstPage: boolean): void {
    if (isFirstPage) this.#tools.clear();
    for (const { name, inputSchema } of tools.filter(isObject)) {
      this.#tools.set(name, mirroredArguments(inputSchema).mirrored);
    }
  }

  headersOf(tool: unknown, args: JsonObject): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const argument of this.#tools.get(tool) ?? []) {
      const value = mirroredValue(args, argument);
      if (value === undefined || typeof value === 'object') continue;
      headers[`${MIRROR_HEADER_PREFIX}${argument.name}`] = encoded(String(value));
    }
    return headers;
  }
}
