import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { statefulIsAuthorized, type EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import { DEFAULT_POLICIES, loadEvaluator } from './pdp.ts';

// Makes V8 discard an optimized function while Cedar runs inside it, in a process with a policy engine, and prints
// Cedar's answer. The program calls Cedar directly, because the engine caches answers, and V8 decides which of its
// functions get inlined.
setFlagsFromString('--allow-natives-syntax');
const optimizeNext = runInThisContext('(f) => %OptimizeFunctionOnNextCall(f)') as (f: () => unknown) => void;

const evaluator = await loadEvaluator(DEFAULT_POLICIES);
const prepared = evaluator.prepare({
  subject: { type: 'identity', id: 'agent' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'files__read_file' },
  context: {},
});
if (prepared.kind !== 'ready') throw new Error('the request was expected to fit the schema');
let duringEvaluation = () => undefined as void;
const [first, ...others] = prepared.call.entities;
const watched = {
  ...first,
  get parents() {
    duringEvaluation();
    return [];
  },
} as unknown as EntityJson;
const [set = ''] = prepared.sets;
const call = { ...prepared.call, entities: [watched, ...others], preparsedPolicySetId: set };

class Assumption {
  holds() {
    return true;
  }
}
const assumption = new Assumption();
const evaluate = () => {
  const answer = statefulIsAuthorized(call);
  const decision = answer.type === 'success' ? answer.response.decision : answer.type;
  return assumption.holds() ? `${decision} before` : `${decision} after`;
};

for (let time = 0; time < 3_000; time += 1) evaluate();
optimizeNext(evaluate);
evaluate();
duringEvaluation = () => {
  Assumption.prototype.holds = () => false;
};
process.stdout.write(`${evaluate()}\n`);
