import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ListsUnderTest } from './lists-under-test.ts';

describe('inbox lists with more rows than a page', () => {
  const under = new ListsUnderTest();
  beforeAll(() => under.start());
  afterAll(() => under.stop());

  it.each(under.lists)('$name: each row of the last pages is listed once and in order in a browser', (list) =>
    under.expectLastPages(list),
  );
});
