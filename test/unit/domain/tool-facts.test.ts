import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { toolFacts } from '../../../workflows/domain/tools/tool-facts.ts';

const requiring = (requirements: unknown) => ({ execution: { requirements } }) as unknown as JsonObject;
const required = (definition: JsonObject, own?: string[]) => toolFacts(definition, { requirements: own }).requirements;

describe('the requirements of a tool', () => {
  it('are those of its upstream and those of the operator, each once', () => {
    expect(required(requiring(['env:a', 'env:b']), ['env:c', 'env:a'])).toEqual(['env:a', 'env:b', 'env:c']);
  });

  it('are empty where neither declares any', () => {
    for (const definition of [
      {},
      { execution: {} },
      { execution: 'x' },
      { execution: null },
      requiring(null),
      requiring([]),
    ]) {
      expect(required(definition as JsonObject)).toEqual([]);
    }
  });

  it('are texts that stay unchanged [REQ-003]', () => {
    const texts = ['Env:A', 'env:a', ' env:a', 'env:\u0061\u0301', 'env:\u00e1', '__proto__', ''];
    expect(required(requiring(texts))).toEqual(texts);
  });

  it('are enforced also in another form than a list of texts', () => {
    expect(required(requiring('env:a'))).toEqual(['env:a']);
    expect(required(requiring(['env:a', { any: 1 }, 5]))).toEqual(['env:a', '{"any":1}', '5']);
    expect(required(requiring({ all: ['env:a'] }))).toEqual(['{"all":["env:a"]}']);
  });
});
