/** JSON text with a fault, made from a valid object, for a reader with a limit on members and elements. */
export const FAULTS: Readonly<Record<string, (good: string, most: number) => string>> = {
  'a member twice': (good) => withMember(good, '"x":1,"x":2'),
  'a member twice, once in other letters': (good) => withMember(good, '"x":1,"\\u0078":2'),
  'a member twice, far inside': (good) => withMember(good, '"x":[{"y":{"z":1,"z":2}}]'),
  'too many levels': (good) => withMember(good, `"x":${'['.repeat(300)}${']'.repeat(300)}`),
  'ten thousand levels': (good) => withMember(good, `"x":${'{"y":'.repeat(2_500)}1${'}'.repeat(2_500)}`),
  'too many elements': (good, most) => withMember(good, `"x":[${'1,'.repeat(most)}1]`),
  'too many members': (good, most) =>
    withMember(good, `"x":{${Array.from({ length: most }, (_, index) => `"${index.toString(36)}":1`).join()}}`),
  'something behind it': (good) => `${good} {}`,
  'a byte order mark': (good) => `\uFEFF${good}`,
  'half a character': (good) => withMember(good, '"x":"\\ud800"'),
  'a number without end': (good) => withMember(good, '"x":1e400'),
  'a number that is rounded': (good) => withMember(good, '"x":9007199254740993'),
  'a text in place of an object': () => '"text"',
  'a number in place of an object': () => '7',
  'nothing in place of an object': () => 'null',
};
const withMember = (good: string, member: string) => `{${member},${good.slice(1)}`;
