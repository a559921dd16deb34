import { describe, expect, it } from '@jest/globals';
import { hintWords } from '../../../workflows/domain/tools/hint-words.ts';

describe('the hints of a server about its tool', () => {
  it.each([
    [
      { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
      'reads only, reaches outside',
    ],
    [{ readOnlyHint: true, destructiveHint: true }, 'reads only, destroys'],
    [
      { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
      'changes things, destroys, not repeatable, stays inside',
    ],
    [{ destructiveHint: false, idempotentHint: true }, 'destroys nothing, may be repeated'],
    [{}, ''],
  ])('%j are said as “%s”', (annotations, said) => {
    expect(hintWords(annotations)).toEqual({ words: said === '' ? [] : said.split(', '), rest: {} });
  });

  it('have no words if they are no hints, and are left as they are', () => {
    const odd = { title: 'Safe', readOnlyHint: 'true', toString: true };
    expect(hintWords({ ...odd, openWorldHint: true })).toEqual({ words: ['reaches outside'], rest: odd });
  });
});
