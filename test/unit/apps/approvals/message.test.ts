import { describe, expect, it } from '@jest/globals';
import { sentenceOf } from '../../../../apps/approvals/channels/message.ts';
import type { JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { type Outline, outlineOf } from '../../../../workflows/domain/access-request/outline.ts';
import { sha256 } from '../../../../apps/shared/crypto.ts';

describe('the sentence of a message', () => {
  const tool = 'files__write';
  const args = { path: '/srv/\u202ea "b"', options: { mode: 'w' }, content: 'secret' };
  const outlined = (of: JsonObject) => ({ tool, outline: outlineOf(of, sha256) as Outline });
  const say = (shownArguments: string[], summary?: string, title?: string) =>
    sentenceOf({ ...outlined(args), ...(title && { title }) }, { shownArguments, summaries: () => summary });

  it('is that of the operator if messages show each argument in it', () => {
    expect(say(['path', 'options'], 'Write {path} as {options.mode}', 'Writing')).toBe(
      String.raw`Write "/srv/\u202ea \"b\"" as "w"`,
    );
    expect(say([], 'Write a file', 'Writing')).toBe('Write a file');
  });

  it('has no argument that messages do not show', () => {
    expect(say(['path'], 'Write {path} as {options.mode}', 'Writing')).not.toContain('"w"');
    expect(say([], 'Write {path}', 'Writing')).toBe('Writing (files__write)');
    expect(say([])).toBe('files__write');
    expect(say(['opt', 'options.mode', 'pat'])).toBe('files__write');
  });

  it('names the arguments that messages show, where the operator wrote no sentence', () => {
    expect(say(['options'])).toBe('files__write options.mode "w"');
    expect(say(['options'], undefined, 'Writing')).toBe('Writing (files__write options.mode "w")');
  });

  it('shows the start of a long argument', () => {
    const options = { shownArguments: ['note'], summaries: () => 'Note {note}' };
    const sentence = sentenceOf(outlined({ note: 'x'.repeat(600) }), options);
    expect(sentence).toBe(`Note "${'x'.repeat(79)}…`);
  });
});
