import { isAmbiguous } from './faithful-json.ts';

/** @see RFC 6838, section 4.2.8 */
const JSON_TYPE = /^application\/([\w.+-]+\+)?json\s*(;|$)/i;

/** What another service answered. */
interface Answer {
  /** `Content-Type`. */
  readonly type: string | undefined;
  readonly text: string;
}

/**
 * The JSON that another service answered. Throws where the answer is no JSON, and where it does not call itself JSON: what a server
 * shows as a text, a page or a file of somebody else's, is no word of its own.
 */
export function jsonOf({ type, text }: Answer): unknown {
  if (!JSON_TYPE.test(type ?? '')) throw new SyntaxError('the answer does not call itself JSON');
  return parseAnswer(text);
}

/** The same of a text that may call itself what it likes. */
export function parseAnswer(text: string): unknown {
  if (isAmbiguous(text)) throw new SyntaxError('the answer has a member twice, too many of them, or too many levels');
  return JSON.parse(text);
}
