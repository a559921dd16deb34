import type { JsonObject } from '../canonical-json.ts';

/** Words for a hint that is true, and for one that is false. */
const WORDS: Readonly<Record<string, readonly [yes: string, no: string]>> = {
  readOnlyHint: ['reads only', 'changes things'],
  destructiveHint: ['destroys', 'destroys nothing'],
  idempotentHint: ['may be repeated', 'not repeatable'],
  openWorldHint: ['reaches outside', 'stays inside'],
};
/** These mean nothing for a tool that only reads. A contradiction is not kept back. */
const isEmptyOfReading = (name: string, value: boolean) =>
  name === 'idempotentHint' || (name === 'destructiveHint' && !value);

/**
 * What the annotations of a tool say in words, and the annotations that have no words. The server of the tool makes these statements.
 * @see MCP, schema, ToolAnnotations
 */
export function hintWords(annotations: JsonObject): { readonly words: readonly string[]; readonly rest: JsonObject } {
  const isHint = ([name, value]: readonly [string, unknown]) =>
    Object.hasOwn(WORDS, name) && typeof value === 'boolean';
  const onlyReads = annotations['readOnlyHint'] === true;
  const words = Object.entries(WORDS).flatMap(([name, [yes, no]]) => {
    const value = annotations[name];
    if (typeof value !== 'boolean' || (onlyReads && isEmptyOfReading(name, value))) return [];
    return [value ? yes : no];
  });
  return { words, rest: Object.fromEntries(Object.entries(annotations).filter((one) => !isHint(one))) };
}
