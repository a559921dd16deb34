import { expect, it } from '@jest/globals';
import { isAgentMessage } from '../../../workflows/domain/access-request/agent-message.ts';

it.each(['Use the staging database.', 'Grüße – “x” 你好 👍 ❤️', 'a'.repeat(500), ' with blanks '])(
  'takes one paragraph of visible characters: %j',
  (text) => expect(isAgentMessage(text)).toBe(true),
);

it.each([
  ['nothing', ''],
  ['only blanks', '  '],
  ['more than 500 characters', 'a'.repeat(501)],
  ['a line end', 'one\ntwo'],
  ['a Unicode line end', 'one\u2028two'],
  ['a control character', 'a\u0000b'],
  ['an escape sequence', 'a\u001b[2Jb'],
  ['a turn of direction', 'a\u202eb'],
  ['an invisible character', 'a\u200bb'],
  ['invisible selectors', `a${String.fromCodePoint(0xe0141)}`],
  ['a selector after a letter', 'a\ufe0f'],
  ['an empty letter', 'a\u3164b'],
  ['invisible tags', `a${String.fromCodePoint(0xe0041)}`],
  ['half a character', 'a\ud83d'],
])('refuses %s', (_case, text) => expect(isAgentMessage(text)).toBe(false));
