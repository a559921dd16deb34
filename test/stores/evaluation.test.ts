import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { bindDenial, type BoundDenial } from '../../apps/pdp/offer/binding-token.ts';
import { createEvaluationStore, type EvaluationStore } from '../../apps/pdp/stores/evaluation.store.ts';
import { createPool } from '../../apps/shared/database/pool.ts';
import { startForgetting } from '../../apps/shared/maintenance/rounds.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aTransfer } from '../support/pdp.ts';
import { waitFor } from '../support/wait-for.ts';
import { systemTime } from '../support/time.ts';

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
  return {
    ...bindDenial(
      { request, requester: 'mcp-gateway', offer, listedTemplates: ['treasury_approval'], policyVersion: 'sha-256:00' },
      { ttlSeconds: 600, now: Date.now() },
    ),
    ...of,
  };
}

describe('the record of requestable denials', () => {
  it('contains the denied request and its binding, but no arguments', async () => {
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
      listedTemplates: ['treasury_approval'],
      reason: 'approval_required',
      policies: ['transfer-large'],
      grantSeconds: null,
      grantUses: null,
      policyVersion: 'sha-256:00',
      evaluatedAt: denial.evaluatedAt,
      expiresAt: denial.expiresAt,
    });
    expect(JSON.stringify(row)).not.toContain('hunter2');
  });

  it('keeps the grant that the policies allow', async () => {
    const { offer } = aDenial();
    const denial = aDenial({ offer: { ...offer, grantable: { seconds: 1_800, uses: 10 } } });
    await store.record(denial);
    expect((await store.find(denial.evaluationId))?.offer.grantable).toEqual({ seconds: 1_800, uses: 10 });
  });

  it('records many at once, each unchanged', async () => {
    const denials = Array.from({ length: 60 }, () => aDenial());
    await Promise.all(denials.map(store.record));
    const kept = await database.prisma.evaluation.findMany({
      where: { evaluationId: { in: denials.map(({ evaluationId }) => evaluationId) } },
      select: { evaluationId: true, tokenId: true, expiresAt: true },
    });
    const expected = denials.map(({ evaluationId, tokenId, expiresAt }) => ({ evaluationId, tokenId, expiresAt }));
    expect(new Set(kept.map((row) => JSON.stringify(row)))).toEqual(
      new Set(expected.map((row) => JSON.stringify(row))),
    );
  });

  it('refuses a denial that cannot be stored, and records those that come with it', async () => {
    const used = aDenial();
    await store.record(used);
    const unkept = aTransfer();
    const asked = [
      aDenial(),
      aDenial(),
      aDenial({ request: { ...unkept, subject: { ...unkept.subject, id: 'no\u0000text' } } }),
      aDenial({ evaluationId: used.evaluationId }),
      aDenial(),
    ];
    const found = await Promise.allSettled(asked.map((denial) => store.record(denial)));
    expect(found.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled']);
    for (const [index, { evaluationId, tokenId }] of asked.entries()) {
      const count = await database.prisma.evaluation.count({ where: { evaluationId, tokenId } });
      expect(count).toBe(found[index]?.status === 'fulfilled' ? 1 : 0);
    }
  });

  it('refuses every denial while the database is down', async () => {
    const away = await createTestDatabase();
    const { record, find } = createEvaluationStore(away.pool);
    await away.drop();
    const found = await Promise.allSettled([aDenial(), aDenial(), aDenial(), aDenial()].map(record));
    expect(found.every(({ status }) => status === 'rejected')).toBe(true);
    await expect(find('eval_1')).rejects.toMatchObject({ code: 'ERR_DATABASE_UNAVAILABLE' });
  });

  it('refuses a used identifier', async () => {
    const denial = aDenial();
    await store.record(denial);
    await expect(store.record({ ...denial, tokenId: randomUUID() })).rejects.toThrow(/duplicate key/);
    await expect(store.record({ ...denial, evaluationId: `eval_${randomUUID()}` })).rejects.toThrow(/token_id/);
  });

  it('refuses a denial that could be used for longer than ten minutes', async () => {
    const { evaluatedAt } = aDenial();
    const late = aDenial({ evaluatedAt, expiresAt: new Date(evaluatedAt.getTime() + 600_001) });
    await expect(store.record(late)).rejects.toThrow(/evaluation_window/);
    await expect(store.record(aDenial({ evaluatedAt, expiresAt: evaluatedAt }))).rejects.toThrow(/evaluation_window/);
  });

  describe('is forgotten', () => {
    const HOUR = 3_600_000;
    const denied = async (agoMs: number) => {
      const evaluatedAt = new Date(Date.now() - agoMs);
      const denial = aDenial({ evaluatedAt, expiresAt: new Date(evaluatedAt.getTime() + 600_000) });
      await store.record(denial);
      return denial.evaluationId;
    };
    const kept = async (ids: readonly string[]) =>
      Promise.all(ids.map(async (id) => (await store.find(id)) !== undefined));

    it('when it is older than the retention time, the oldest first, a limited number at a time', async () => {
      const ids = [await denied(5 * HOUR), await denied(4 * HOUR), await denied(3 * HOUR - 60_000)];
      expect(await store.forget(3 * HOUR, 1)).toBe(1);
      expect(await kept(ids)).toEqual([false, true, true]);
      expect(await store.forget(3 * HOUR, 100)).toBe(1);
      expect(await kept(ids)).toEqual([false, false, true]);
      expect(await store.forget(3 * HOUR, 100)).toBe(0);
    });

    it('never while a request may be made on it, under any configuration', async () => {
      const ids = [await denied(0), await denied(HOUR)];
      await store.forget(0, 100);
      expect(await kept(ids)).toEqual([true, true]);
    });

    it('by the running service, under the role that it has', async () => {
      const id = await denied(5 * HOUR);
      const pool = createPool(database.url, { ...systemTime, applicationName: 'test', role: 'countersign_pdp' });
      const forget = (limit: number) => createEvaluationStore(pool).forget(2 * HOUR, limit);
      const log = pino({ enabled: false });
      const forgetting = startForgetting({ ...systemTime, of: 'denials', forget, everyMs: 5, log });
      try {
        await waitFor(async () => (await store.find(id)) === undefined);
      } finally {
        await forgetting.stop();
        await pool.end();
      }
    });
  });
});
