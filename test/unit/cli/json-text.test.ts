import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { withMember } from '../../../apps/cli/commands/connect/json-text.ts';

const ENTRY = { url: 'u' };
const set = (text: string, ...path: string[]) => withMember(text, path, ENTRY);

describe('a member of a JSON text', () => {
  it.each([
    ['an empty text', '', '{\n  "s": {\n    "c": {\n      "url": "u"\n    }\n  }\n}\n'],
    ['an empty object', '{"s":{}}', '{"s":{\n  "c": {\n    "url": "u"\n  }\n}}'],
    ['one line', '{ "s": { "a": 1 } }', '{ "s": { "a": 1, "c": {"url":"u"} } }'],
    [
      'a comment behind the last member',
      '{\n  "s": {\n    "a": 1 // one\n  }\n}\n',
      '{\n  "s": {\n    "a": 1, // one\n    "c": {\n      "url": "u"\n    }\n  }\n}\n',
    ],
    [
      'a comma behind the last member',
      '{\n\t"s": {\n\t\t"a": 1, // one\n\t},\n}\n',
      '{\n\t"s": {\n\t\t"a": 1, // one\n\t\t"c": {\n\t\t\t"url": "u"\n\t\t},\n\t},\n}\n',
    ],
    [
      'the same name',
      '{\n  "s": {\n    "c": { "url": "old" }, // mine\n  }\n}',
      '{\n  "s": {\n    "c": {\n      "url": "u"\n    }, // mine\n  }\n}',
    ],
    ['other members', '{\n  "a": [1]\n}\n', '{\n  "a": [1],\n  "s": {\n    "c": {\n      "url": "u"\n    }\n  }\n}\n'],
  ])('is set with %s', (_what, before, after) => {
    expect(set(before, 's', 'c')).toBe(after);
  });

  it('is the only difference in meaning, for any content and layout', () => {
    const content = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(content, content, fc.constantFrom(undefined, 2, '\t'), (other, servers, space) => {
        const before = JSON.parse(JSON.stringify({ ...other, s: servers })) as Record<string, unknown>;
        const after = set(JSON.stringify(before, null, space), 's', 'c');
        expect(JSON.parse(after)).toEqual({ ...before, s: { ...(before['s'] as object), c: ENTRY } });
      }),
    );
  });
});
