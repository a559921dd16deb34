import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';

describe("a submission while the PDP's keys cannot be read", () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  it('opens no task, and may be repeated under the same key until they can be read', async () => {
    const body = await service.submission();
    const submit = () => service.submit(body, { 'idempotency-key': 'patient' });
    for (const fail of [
      { status: 500, body: {} },
      { status: 200, body: { keys: 'none' } },
    ]) {
      service.pdpKeysFail = fail;
      expect((await submit()).status).toBe(503);
    }
    const open = 'SELECT count(*)::int AS n FROM approvals.access_request';
    expect((await service.database.pool.query(open)).rows).toEqual([{ n: 0 }]);
    service.pdpKeysFail = undefined;
    expect((await submit()).status).toBe(202);
  });
});
