import { createPatch } from 'diff';
import type { Json } from '../../../../../workflows/domain/canonical-json.ts';
import type { Chance } from '../../../../histories/chance.ts';
import { CHARACTERS, NAMES, PATHS, SCALARS, TEXTS } from './hostile-arguments.ts';

function someText(chance: Chance): string {
  const several = (most: number, list: readonly string[], between = '') =>
    Array.from({ length: chance.below(most) }, () => chance.oneOf(list)).join(between);
  return chance.weighted<() => string>([
    [4, () => chance.oneOf(TEXTS)],
    [4, () => several(12, CHARACTERS)],
    [4, () => several(5, TEXTS, chance.oneOf(['\n', ' ', '', '\r\n']))],
    [1, () => chance.oneOf(PATHS)],
    [1, () => JSON.stringify(someValue(chance, 2), null, chance.oneOf([0, 0, 2]))],
    [1, () => createPatch('a', several(4, TEXTS, '\n'), several(4, TEXTS, '\n'))],
    [1, () => Buffer.from(several(400, CHARACTERS)).toString('base64')],
  ])();
}

/** A text, and one with a small change. */
function twoTexts(chance: Chance): [string, string] {
  const text = someText(chance);
  const at = chance.below(text.length + 1);
  return [text, text.slice(0, at) + chance.oneOf([...CHARACTERS, '\n', 'x\ny\n']) + text.slice(at + chance.below(3))];
}

function someValue(chance: Chance, levels: number): Json {
  const some = (most: number, make: () => Json) => Array.from({ length: chance.below(most) }, make);
  const within = () => someValue(chance, levels - 1);
  const object = () =>
    Object.fromEntries(
      some(5, within).map((value) => [chance.happens(0.8) ? chance.oneOf(NAMES) : someText(chance), value]),
    );
  const scalar = () => (chance.happens(0.5) ? chance.oneOf(SCALARS) : someText(chance));
  if (levels === 0) return scalar();
  return chance.weighted<() => Json>([
    [5, scalar],
    [5, object],
    [3, () => some(4, within)],
    [1, () => ({ ...object(), path: chance.oneOf(PATHS), content: someText(chance) })],
    [
      2,
      () => {
        const [one, other] = twoTexts(chance);
        const [from, to] = chance.oneOf([
          ['oldText', 'newText'],
          ['old_string', 'new_string'],
          ['newText', 'oldText'],
        ] as const);
        return { ...object(), [from]: one, [to]: other };
      },
    ],
    [
      2,
      () => {
        const names = [chance.oneOf(NAMES), chance.oneOf(NAMES), chance.oneOf(NAMES)];
        const row = () => Object.fromEntries(names.map((name) => [name, scalar()]));
        const rows = [row(), row(), row()];
        return chance.happens(0.3) ? [...rows, { ...row(), [chance.oneOf(NAMES)]: scalar() }] : rows;
      },
    ],
  ])();
}

/** Random arguments out of the same parts. Values without a canonical form, which no call has, are among them. */
export const someArguments = (chance: Chance): Json => someValue(chance, 3);
