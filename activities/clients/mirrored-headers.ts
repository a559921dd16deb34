import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';
import { mirroredValue, type MirroredArgument } from '../../workflows/domain/tools/mirrored-arguments.ts';
import { ENCODED_VALUE, MIRROR_HEADER_PREFIX } from '../../workflows/domain/tools/wire-names.ts';

/** What a header may hold as it is. Space at its ends would be taken for none. */
const PLAIN = /^(?! |\t)[\t\x20-\x7e]*(?<! |\t)$/;

/**
 * The headers in which a call repeats its arguments. One that is absent, `null`, or of another type than declared has none.
 *
 * @see MCP 2026-07-28, Streamable HTTP, Value Encoding
 */
export function mirroredHeaders(mirrored: readonly MirroredArgument[], args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const argument of mirrored) {
    const value: Json | undefined = mirroredValue(args, argument);
    if (value === undefined || typeof value === 'object') continue;
    headers[`${MIRROR_HEADER_PREFIX}${argument.name}`] = encoded(String(value));
  }
  return headers;
}

function encoded(text: string): string {
  const { start, end } = ENCODED_VALUE;
  // A text that looks encoded would be decoded.
  const isPlain = PLAIN.test(text) && !(text.startsWith(start) && text.endsWith(end));
  return isPlain ? text : `${start}${Buffer.from(text, 'utf8').toString('base64')}${end}`;
}
