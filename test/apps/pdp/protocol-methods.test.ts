import { describe, expect, it } from '@jest/globals';
import { evaluationRequestOf, MAPPED_METHODS } from '../../../apps/gateway/mcp/authorize.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { ALICE } from '../../support/gateway-world.ts';
import { DEFAULT_POLICIES, loadEvaluator } from '../../support/pdp.ts';

const config = parseConfig({}, { baseDir: '/', stateDir: '/' });
const PARAMS = {
  name: 'unknown__has_this',
  uri: 'x://unknown',
  taskId: 'tsk_1',
  ref: { type: 'ref/prompt', name: 'unknown__has_this' },
  protocolVersion: '2025-06-18',
  level: 'info',
};
/** Methods that can be refused for their object, or that the gateway does not offer. */
const NOT_FOR_ALL = [
  ...['tools/call', 'prompts/get', 'resources/read', 'completion/complete'],
  ...['resources/subscribe', 'resources/unsubscribe', 'tasks/list', 'tasks/result'],
];

describe('the example policies for every method', () => {
  it('permit reads and the tasks of their owners, and no method that changes data [PRJ-21] [COAZ-FW-23]', async () => {
    const evaluator = await loadEvaluator(DEFAULT_POLICIES);
    const permitted = MAPPED_METHODS.filter((method) => {
      const question = evaluationRequestOf(
        config,
        { caller: ALICE, claims: { aud: config.urls.mcp } },
        { method, params: PARAMS },
      );
      const prepared = question && evaluator.prepare(question);
      return prepared?.kind === 'ready' && evaluator.evaluate(prepared).kind === 'allow';
    });
    expect(permitted.toSorted()).toEqual(MAPPED_METHODS.filter((one) => !NOT_FOR_ALL.includes(one)).toSorted());
  });
});

it("the example policies trust no request's claim about its subject [COAZ-FW-20] [COAZ-SU-10]", async () => {
  const evaluator = await loadEvaluator(DEFAULT_POLICIES);
  const decision = (id: string, properties: object) => {
    const prepared = evaluator.prepare({
      subject: { type: 'identity', id, properties: properties as never },
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: 'files__read_file' },
      context: {},
    });
    return prepared.kind === 'ready' ? evaluator.evaluate(prepared).kind : prepared.kind;
  };
  expect(decision('retired-agent', { status: 'active' })).toBe('deny');
  expect(decision('anybody', {})).toBe('allow');
});
