import { describe, expect, it } from '@jest/globals';
import { renderToString } from 'preact-render-to-string';
import { JsonBlock } from '../../../../apps/approvals/inbox/json-block.tsx';
import { canonicalJson, type Json } from '../../../../workflows/domain/canonical-json.ts';
import { wordsOf } from '../../../support/pages.ts';

/** The block in two parts: what is said above it, and the arguments. */
function drawn(value: Json): { readonly notice: string; readonly block: string } {
  const [notice = '', block = ''] = renderToString(
    <JsonBlock canonical={canonicalJson(value)} label="Arguments" />,
  ).split('<pre ');
  return { notice, block };
}
const escapesIn = (html: string) => Array.from(html.matchAll(/class="escape"[^>]*>([^<]*)</g), ([, text]) => text);

describe('a block of arguments', () => {
  it('colours and lists control characters, and not the letters of their escapes', () => {
    const { notice, block } = drawn({ run: 'a\u001b[2K\r\b', said: '\\u001b[2K\\r\\b' });
    expect(escapesIn(notice)).toEqual(['\\u001b', '\\r', '\\b']);
    expect(escapesIn(block)).toEqual(['\\u001b', '\\r\\b']);
    expect(block).toContain('\\\\u001b[2K\\\\r\\\\b');
  });

  it('lists what looks like something else, and blanks that push something out of sight', () => {
    const { notice } = drawn({ to: '\u0441\u043e\u0441\u043e.com', run: `ls${' '.repeat(40)}; rm` });
    expect(wordsOf(notice)).toMatch(
      /Characters that look like others, with.*\u0441\u043e\u0441\u043e.*U\+0441 043E 0441 043E.*40 blanks/,
    );
  });

  it('says nothing above ordinary arguments, in any language', () => {
    // cspell:ignore Привет
    const content = 'if (x) {\n    return "é";\n}\n\tПривет, мир — it’s 東京 ';
    expect(drawn({ content, path: '/srv/a/very/long/path/to/some/file.txt', list: [1, null] }).notice).toBe('');
  });

  it('has all of the arguments in it', () => {
    const value = { 'k e y': ['a\nb', { c: ' x  y ' }], n: 1e21 };
    expect(
      JSON.parse(
        wordsOf(drawn(value).block.replace(/^[^>]*>/, ''))
          .replaceAll('&quot;', '"')
          .replace(/\}\s*Complete.*/s, '}')
          .replaceAll('\\n\n', '\\n'),
      ),
    ).toEqual(value);
  });
});
