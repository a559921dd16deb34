import { describe, expect, it } from '@jest/globals';
import { sha256 } from '../../apps/shared/crypto.ts';
import type { Decision } from '../../workflows/domain/authzen/evaluation.ts';
import { mappingDigest, toolFacts } from '../../workflows/domain/tools/tool-facts.ts';
import { anOpening } from '../support/gated-calls.ts';
import { WIRE_TRANSFER } from '../support/mapped-tools.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn, TOOL, type World } from '../support/steps.ts';

const own = ownCalls();
/** Takes the next step of an approved call whose binding contains these members, and reports its state. */
async function look(binding: object, world: World) {
  const opening = anOpening();
  const call = await own.fixture.granted({ ...opening, binding: { ...opening.binding, ...binding } });
  const step = stepsIn(world, own.fixture.lifecycle);
  await step.toTheClaim(call);
  const text = 'SELECT state, reason FROM gateway.gated_call WHERE id = $1';
  const { rows } = await own.db.pool.query<{ state: string; reason: string | null }>(text, [call.gatedCallId]);
  return rows[0];
}
const CLAIMED = { state: 'claimed', reason: null };
const CHANGED = { state: 'denied', reason: 'tool_changed' };
const DENIED = { state: 'denied', reason: 'policy_denied' };

describe('an approved call whose mapping', () => {
  const mappedBy = (mapping: object) => ({ ...TOOL, facts: toolFacts({}, { mapping: mapping as never }) });
  const mapped = mappedBy(WIRE_TRANSFER);
  const binding = { mappingDigest: mappingDigest(mapped.facts.mapping, sha256) };
  const other = mappedBy({ evaluation: { ...WIRE_TRANSFER.evaluation, action: { name: 'pay' } } });

  it('has not changed goes on [PRJ-36]', async () => {
    expect(await look(binding, { tool: mapped })).toEqual(CLAIMED);
    expect(await look({}, {})).toEqual(CLAIMED);
  });

  it.each([
    ['has changed', binding, { tool: other }],
    ['is gone', binding, {}],
    ['was the default', {}, { tool: mapped }],
  ])(
    '%s does not run: its answers do not cover the current questions [PRJ-36] [COAZ-PP-06]',
    async (_case, of, world) => {
      expect(await look(of, world)).toEqual(CHANGED);
    },
  );
});

describe('an approved call with several questions', () => {
  const others = ['debit', 'credit'].map((name) => ({ ...anOpening().binding.evaluation, action: { name } }));
  const answering = (answers: Readonly<Record<string, Decision>>): World => ({
    decide: ({ action }, approval) => answers[action.name] ?? { kind: approval === undefined ? 'deny' : 'allow' },
  });
  const ALLOW: Decision = { kind: 'allow' };

  it('runs if policy allows each question, the approved one included [COAZ-EN-06] [COAZ-FW-16]', async () => {
    expect(await look({ others }, answering({ debit: ALLOW, credit: ALLOW }))).toEqual(CLAIMED);
  });

  it.each<[string, Decision]>([
    ['is denied', { kind: 'deny', reason: 'r' }],
    [
      'needs an approval of its own',
      { kind: 'requestable', offer: { endpoint: 'https://ars.test', expiresAt: '2999-01-01T00:00:00Z' } },
    ],
  ])('does not run if another of them %s [COAZ-EN-06]', async (_case, credit) => {
    expect(await look({ others }, answering({ debit: ALLOW, credit }))).toEqual(DENIED);
  });
});
