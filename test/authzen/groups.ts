import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { type Ask, readCaseSet, runCases } from '../../apps/pdp/tools/cases.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { BASIC, FIXTURE } from './certification-basic.ts';
import { BATCH } from './certification-batch.ts';
import { DISCOVERY } from './certification-discovery.ts';
import { SEARCH } from './certification-search.ts';
import { decided, succeeded, type Check } from './checks.ts';
import type { Target } from './target.ts';

export interface CheckResult {
  readonly name: string;
  readonly misses: readonly string[];
}

/** Checks that are scored together, against a PDP that has the policies and the data of one scenario. */
export interface Group {
  readonly name: string;
  /** Folder with policies, schema and entities. */
  readonly scenario: string;
  run(pdp: Target): Promise<readonly CheckResult[]>;
}

const scenario = (name: string) => packagePath('test', 'authzen', 'scenarios', name);
const published = (name: string) => packagePath('test', 'fixtures', 'authzen', `${name}.json`);

async function runChecks(checks: readonly Check[], pdp: Target): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of checks) {
    const misses = await check.run(pdp).then(
      () => [],
      (error: unknown) => [error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)],
    );
    results.push({ name: check.name, misses });
  }
  return results;
}

const ofChecks = (name: string, checks: readonly Check[]): Group => ({
  name,
  scenario: scenario('certification'),
  run: (pdp) => runChecks(checks, pdp),
});

/** Asks over HTTP. */
const askOver =
  (pdp: Target): Ask =>
  async ({ endpoint, request, approval }) => {
    assert.equal(approval, undefined, 'an approval can be assumed in this process only: countersign policy test');
    return succeeded(await pdp.post(endpoint, request));
  };

/** The cases of files: `countersign policy test` runs the same ones, without HTTP. */
export const ofFiles = (name: string, files: readonly string[], policies: string): Group => ({
  name,
  scenario: policies,
  async run(pdp) {
    const sets = await Promise.all(files.map(readCaseSet));
    return await runCases(
      sets.flatMap(({ cases }) => cases),
      askOver(pdp),
    );
  },
});

const transfer = (context: object, properties?: object) => ({
  subject: { type: 'identity', id: 'alice@example.com', ...(properties && { properties }) },
  action: { name: 'wire_transfer' },
  resource: { type: 'account', id: 'acct-991' },
  context,
});

async function bindingHash(pdp: Target, request: object): Promise<unknown> {
  const answer = succeeded(await pdp.post('evaluation', request));
  decided(answer, false);
  const { access_request: offer } = answer['context'] as { access_request?: { binding_token?: string } };
  return decodeJwt(offer?.binding_token ?? '')['binding_hash'];
}

const binds = (name: string, request: object, digest: string): Check => ({
  name,
  run: async (pdp) => assert.equal(await bindingHash(pdp, request), digest),
});

/**
 * The digest that a requestable denial is bound to: base64url SHA-256 over the canonical form. @see ARAP, Binding Token
 * Integrity
 */
const BINDING: readonly Check[] = [
  binds('V1', transfer({ agent: 'agent-7', amount: 50_000 }), '1D3AUzxxGix20RNsi3F0diqdPOJ7sP6ZHV3L9p3Tyn8'),
  binds('V2 no context', transfer({}), 'iVScull4ZkZejfUf8P5oOnL31hBtxnJvaj4ppRRMy5c'),
  binds('V3 amount', transfer({ agent: 'agent-7', amount: 60_000 }), 'pSR0yX2Sv4lGvXJRioZ1UuDa1-ph0OSWqvxyp79uAzg'),
  {
    name: 'actor is not bound',
    async run(pdp) {
      const context = { agent: 'agent-7', amount: 50_000 };
      const plain = await bindingHash(pdp, transfer(context, { department: 'Sales' }));
      const acted = transfer(context, { department: 'Sales', act: { sub: 'agent-7' } });
      assert.equal(await bindingHash(pdp, acted), plain);
    },
  },
];

/** Groups for any PDP that has the fixture of the certification scenario. */
export const CERTIFICATION: readonly Group[] = [
  ofChecks('fixture', FIXTURE),
  ofChecks('basic', BASIC),
  ofChecks('batch', BATCH),
  ofChecks('search', SEARCH),
  ofChecks('discovery', DISCOVERY),
];

/** Groups that need the policies of one more scenario, or a PDP that offers access requests. */
export const SCENARIOS: readonly Group[] = [
  ofChecks('binding', BINDING),
  ofFiles('todo', [published('todo-decisions-1_0-02')], scenario('todo')),
  ofFiles('gateways', [published('api-gateways')], scenario('gateways')),
  ofFiles(
    'search-demo',
    ['subject', 'resource', 'action'].map((kind) => published(`search-${kind}`)),
    scenario('records'),
  ),
  ofFiles('idp', [published('idp')], scenario('records')),
];
