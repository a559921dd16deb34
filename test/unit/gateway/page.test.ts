import { expect, it } from '@jest/globals';
import { pageOf } from '../../../apps/gateway/wire/published.ts';

const named = (index: number) => ({ name: `n${String(index).padStart(5, '0')}` });
const many = Array.from({ length: 2_500 }, (_, index) => named(index));

it('a long list comes in pages, each item once', () => {
  const seen = [];
  let cursor: string | undefined;
  do {
    const page = pageOf(many, cursor);
    seen.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(seen).toEqual(many);
});

it('a list that fits on one page has no other, and neither has an empty one', () => {
  expect(pageOf(many.slice(0, 1_000), undefined)).toEqual({ items: many.slice(0, 1_000) });
  expect(pageOf([], '')).toEqual({ items: [] });
});

it('items that come or go meanwhile move no other item to another page', () => {
  const { nextCursor } = pageOf(many, undefined);
  const changed = [{ name: 'a new one' }, ...many.filter((_, index) => index !== 10 && index !== 999)];
  expect(pageOf(changed, nextCursor).items[0]).toEqual(named(1_000));
});

it.each(['x', 'bjAwMDAw', Buffer.from('after ').toString('base64url'), Buffer.from('after n').toString('hex')])(
  'an invented cursor is refused: %s',
  (cursor) => {
    expect(() => pageOf(many, cursor)).toThrow(expect.objectContaining({ code: 'ERR_ARGUMENTS_INVALID' }));
  },
);
