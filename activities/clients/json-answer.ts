import { isAmbiguous } from '../../workflows/domain/faithful-json.ts';
import type { HttpAnswer } from './http.ts';

const JSON_TYPE = /^application\/([\w.+-]+\+)?json\s*(;|$)/i;

/**
 * The body of an answer that others decide by. Throws for one that does not call itself JSON, such as the page of a proxy that
 * stands between; that is none; or that says two things at once: `decision` twice, of which each reader takes another.
 */
export function jsonOf(answer: Pick<HttpAnswer, 'header' | 'text'>): unknown {
  if (!JSON_TYPE.test(answer.header('content-type') ?? ''))
    throw new SyntaxError('the answer does not call itself JSON');
  return parseAnswer(answer.text);
}

/** The same of a text that may call itself what it likes. */
export function parseAnswer(text: string): unknown {
  if (isAmbiguous(text)) throw new SyntaxError('the answer has a member twice, too many of them, or too many levels');
  return JSON.parse(text);
}
