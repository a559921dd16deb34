import { CountersignError } from '../../../workflows/domain/errors.ts';

/** Things on one page of a list. Clients of today read the first page only, so it is a large one. */
const PAGE_SIZE = 1_000;

/**
 * One page of a list that is sorted by name, and the cursor of the next one. The cursor is the last name of its page: what
 * comes or goes meanwhile moves nothing else to another page. Throws `ERR_ARGUMENTS_INVALID` for a cursor that is none of ours.
 */
export function pageOf<T extends { readonly name: string }>(
  sorted: readonly T[],
  cursor: string | undefined,
): { readonly items: readonly T[]; readonly nextCursor?: string } {
  const after = cursor === undefined || cursor === '' ? undefined : nameIn(cursor);
  const rest = after === undefined ? sorted : sorted.filter(({ name }) => name > after);
  const items = rest.slice(0, PAGE_SIZE);
  const last = items.at(-1);
  if (last === undefined || items.length === rest.length) return { items };
  return { items, nextCursor: encode(last.name) };
}

const encode = (name: string) => Buffer.from(`after ${name}`).toString('base64url');

function nameIn(cursor: string): string {
  const [, name] = /^after (.+)$/s.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? [];
  if (name === undefined || encode(name) !== cursor) {
    throw new CountersignError('ERR_ARGUMENTS_INVALID', 'the cursor is not one that was given out');
  }
  return name;
}
