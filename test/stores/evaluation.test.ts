import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bindDenial, type BoundDenial } from '../../apps/pdp/binding-token.ts';
import { createEvaluationStore, type EvaluationStore } from '../../apps/pdp/stores/evaluation.store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aTransfer } from '../support/pdp.ts';

let database: TestDatabase;
let store: EvaluationStore;
beforeAll(async () => {
  database = await createTestDatabase();
  store = createEvaluationStore(database.pool);
});
afterAll(() => database.drop());

function aDenial(of: Partial<BoundDenial> = {}): BoundDenial {
  const offer = {
    kind: 'requestable',
    template: 'treasury_approval',
    reason: 'approval_required',
    policies: ['transfer-large'],
  } as const;
  const request = aTransfer({ arguments: { secret: 'hunter2' } });
  return { ...bindDenial({ request, requester: 'mcp-gateway', offer, policyVersion: 'sha-256:00' }, 600), ...of };
}

describe('the record of requestable denials', () => {
  it('holds what was denied and what it binds, but no arguments', async () => {
    const denial = aDenial();
    await store.record(denial);
    const row = await database.prisma.evaluation.findUniqueOrThrow({ where: { evaluationId: denial.evaluationId } });
    expect(row).toEqual({
      evaluationId: denial.evaluationId,
      tokenId: denial.tokenId,
      requester: 'mcp-gateway',
      subject: denial.request.subject,
      action: denial.request.action,
      resource: denial.request.resource,
      bindingContextMembers: ['agent', 'amount', 'arguments'],
      bindingHash: denial.bindingHash,
      template: 'treasury_approval',
      reason: 'approval_required',
      policies: ['transfer-large'],
      policyVersion: 'sha-256:00',
      evaluatedAt: denial.evaluatedAt,
      expiresAt: denial.expiresAt,
    });
    expect(JSON.stringify(row)).not.toContain('hunter2');
  });

  it('refuses an identifier that was used before', async () => {
    const denial = aDenial();
    await store.record(denial);
    await expect(store.record({ ...denial, tokenId: randomUUID() })).rejects.toThrow(/duplicate key/);
    await expect(store.record({ ...denial, evaluationId: `eval_${randomUUID()}` })).rejects.toThrow(/token_id/);
  });

  it('refuses a denial that could be answered for longer than ten minutes', async () => {
    const { evaluatedAt } = aDenial();
    const late = aDenial({ evaluatedAt, expiresAt: new Date(evaluatedAt.getTime() + 600_001) });
    await expect(store.record(late)).rejects.toThrow(/evaluation_window/);
    await expect(store.record(aDenial({ evaluatedAt, expiresAt: evaluatedAt }))).rejects.toThrow(/evaluation_window/);
  });
});
