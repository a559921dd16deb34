import { describe, expect, it } from '@jest/globals';
import { renderToString } from 'preact-render-to-string';
import { JsonBlock } from '../../../../../apps/approvals/inbox/arguments/arguments.tsx';
import { canonicalJson, type Json } from '../../../../../workflows/domain/canonical-json.ts';
import { wordsOf } from '../../../../support/pages.ts';

/** The block in two parts: the notice above it, and the arguments. */
function drawn(value: Json): { readonly notice: string; readonly block: string } {
  const [notice = '', block = ''] = renderToString(
    <JsonBlock canonical={canonicalJson(value)} label="Arguments" id="a" />,
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

  it('lists lookalikes, and blanks that push text out of sight', () => {
    const { notice } = drawn({ to: '\u0441\u043e\u0441\u043e.com', run: `ls${' '.repeat(40)}; rm` });
    expect(wordsOf(notice)).toMatch(
      /Characters that look like others, with.*\u0441\u043e\u0441\u043e.*U\+0441 043E 0441 043E.*40 blanks/,
    );
  });

  it('shows no notice above ordinary arguments, in any language', () => {
    // cspell:ignore Привет
    const content = 'if (x) {\n    return "é";\n}\n\tПривет, мир — it’s 東京 ';
    expect(drawn({ content, path: '/srv/a/very/long/path/to/some/file.txt', list: [1, null] }).notice).toBe('');
  });

  it('contains all of the arguments', () => {
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
