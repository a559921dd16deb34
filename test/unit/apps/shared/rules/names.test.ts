import { expect, it } from '@jest/globals';
import { ruleName } from '../../../../../apps/shared/rules/names.ts';

it('names a rule by a text that policies can hold, wherever its end cuts the name of a tool', () => {
  for (let before = 60; before < 80; before += 1) {
    const name = ruleName('approve', { server: ['mail'], tool: [`${'x'.repeat(before)}😀😀😀😀😀😀😀😀😀😀`] });
    expect([name.length <= 80, name.isWellFormed()]).toEqual([true, true]);
  }
});
