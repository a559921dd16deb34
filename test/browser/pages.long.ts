import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ListsUnderTest } from './lists-under-test.ts';

/** Their last pages cross the maximum of one answer of the API, which is 200. */
describe('inbox lists with more rows than a page', () => {
  const under = new ListsUnderTest({ rows: 210, lastPages: 3 });
  beforeAll(() => under.start());
  afterAll(() => under.stop());

  it.each(under.lists)('$name: each row of the last pages is listed once and in order in a browser', (list) =>
    under.expectLastPages(list),
  );
});
