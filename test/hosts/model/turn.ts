/** A function that a host offers to its model. */
export interface Offered {
  readonly name: string;
  /** Only some dialects group functions. */
  readonly namespace?: string;
}

/** What a request asks of the model, whichever dialect it is in. */
export interface Turn {
  readonly offered: readonly Offered[];
  /** The words of the person, oldest first. Hosts add words of their own to them. */
  readonly words: readonly string[];
  /** The results of functions, oldest first, since the last words of the person. */
  readonly results: readonly string[];
}

/** The model calls one function, or answers in words. */
export type Reply =
  | { readonly call: Offered; readonly args: Readonly<Record<string, unknown>> }
  | { readonly text: string };

const CALL = /call the tool (\S+) with (\{.*\})/i;
const NEXT = /, then (?=call the tool)/i;
const LIST = /list your tools/i;
const TO_THE_END = /to its end/i;
const REFERENCE = /get_request_status with the reference (req_[0-9a-f]{32})/;

/**
 * What the model does, as its words ask it to:
 *
 * - `Call the tool NAME with {"a":1}`: it calls the function whose name ends with this name, and answers with its result.
 * - `..., then call the tool ...`: it makes this call after the result of the one before.
 * - `... and follow it to its end`: it also calls `get_request_status`, as long as the result tells it to.
 * - `List your tools`: it answers with the names of all functions that it may call.
 */
export function replyTo({ offered, words, results }: Turn): Reply {
  const asked = words.findLast((text) => CALL.test(text) || LIST.test(text)) ?? '';
  const calls = asked
    .split(NEXT)
    .map((text) => CALL.exec(text))
    .filter((found) => found !== null);
  if (calls.length === 0) return { text: LIST.test(asked) ? namesOf(offered) : 'Nothing was asked.' };
  const [, tool = '', args = ''] = calls[results.length] ?? [];
  const result = results.at(-1);
  if (tool !== '' || result === undefined) return call(offered, tool, JSON.parse(args) as Record<string, unknown>);
  const reference = TO_THE_END.test(asked) ? REFERENCE.exec(result)?.[1] : undefined;
  return reference === undefined ? { text: result } : call(offered, 'get_request_status', { reference });
}

const namesOf = (offered: readonly Offered[]) => offered.map(({ name }) => name).join(' ');

/** Hosts put a prefix before the names of tools. */
function call(offered: readonly Offered[], tool: string, args: Readonly<Record<string, unknown>>): Reply {
  const found = offered.find(({ name }) => name.endsWith(tool));
  return found === undefined ? { text: `There is no tool ${tool} among: ${namesOf(offered)}` } : { call: found, args };
}

/** The words in a content, which is a text, or a list of parts with a text each. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return content === undefined ? '' : JSON.stringify(content);
  return content.map((part: { text?: string }) => part.text ?? '').join('\n');
}

/** One message of a conversation, as a dialect reads it. */
export interface Said {
  readonly by: 'person' | 'tool' | 'model';
  readonly text: string;
}

/** What was said, as the words of the person and the results that are newer than the last of them which asks for something. */
export function turnOf(offered: readonly Offered[], said: readonly Said[]): Turn {
  const isAsked = ({ by, text }: Said) => by === 'person' && (CALL.test(text) || LIST.test(text));
  const newest = said.slice(said.findLastIndex(isAsked) + 1);
  return { offered, words: of(said, 'person'), results: of(newest, 'tool') };
}

const of = (said: readonly Said[], who: Said['by']) => said.filter(({ by }) => by === who).map(({ text }) => text);
