import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { firstLine, startScript } from '../../support/child.ts';

describe('the process of the policy engine', () => {
  it('survives when V8 discards an optimized function during an evaluation', async () => {
    const child = startScript('deoptimize-during-evaluation.ts');
    const exited = once(child, 'exit');
    expect(await firstLine(child)).toBe('allow after');
    expect(await exited).toEqual([0, null]);
  });
});
