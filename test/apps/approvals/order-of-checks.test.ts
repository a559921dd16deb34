import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { anEs256Key } from '../../support/pdp.ts';
import type { SubmissionChanges } from '../../support/submissions.ts';

const URN = 'urn:openid:authzen:access-request:error:';

/** One fault of a submission: how to cause it, and the expected answer. */
interface Fault {
  readonly name: string;
  readonly headers?: () => Record<string, string>;
  readonly changes?: () => SubmissionChanges | Promise<SubmissionChanges>;
  readonly answer: readonly [status: number, type: string, detail: string];
}

describe('the order of the checks of a submission', () => {
  const service = new ApprovalsUnderTest();
  let usedId = '';
  beforeAll(async () => {
    await service.start();
    const used = await service.submission();
    expect((await service.submit(used, { 'idempotency-key': 'used' })).status).toBe(202);
    const [, payload = ''] = used.denial.binding_token.split('.');
    usedId = (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { jti: string }).jti;
  });
  afterAll(() => service.stop());

  const aMinuteAgo = () => new Date((Math.floor(Date.now() / 1_000) - 60) * 1_000);
  const faults: readonly Fault[] = [
    { name: 'credential', headers: () => ({ authorization: 'Bearer wrong' }), answer: [401, 'about:blank', ''] },
    { name: 'content type', headers: () => ({ 'content-type': 'text/plain' }), answer: [415, 'about:blank', ''] },
    { name: 'shape', changes: () => ({ body: { client: 7 } }), answer: [400, 'about:blank', 'client:'] },
    {
      name: 'key',
      headers: () => ({ 'idempotency-key': 'used' }),
      answer: [409, `${URN}duplicate_request`, ''],
    },
    {
      name: 'signature',
      changes: async () => ({ key: await anEs256Key(String(service.secrets.pdpSigningKey.kid)) }),
      answer: [400, `${URN}invalid_denial_binding`, 'the token is not valid'],
    },
    {
      name: 'binding',
      changes: () => ({ body: { resource: { type: 'tool', id: 'files__delete' } } }),
      answer: [400, `${URN}invalid_denial_binding`, 'subject, resource, action or context differs from the denial'],
    },
    {
      name: 'freshness',
      changes: () => ({ expiresAt: aMinuteAgo() }),
      answer: [410, `${URN}expired_denial`, 'evaluate again'],
    },
    {
      name: 'first use',
      changes: () => ({ claims: { jti: usedId } }),
      answer: [400, `${URN}invalid_denial_binding`, 'the denial was used before'],
    },
    {
      name: 'requester',
      changes: () => ({ claims: { requester: 'another-gateway' } }),
      answer: [403, 'about:blank', 'another client'],
    },
  ];

  /** A submission with all of these faults. */
  async function submit(wrong: readonly Fault[]) {
    const all = await Promise.all(wrong.map(async ({ changes }) => (await changes?.()) ?? {}));
    const merged: SubmissionChanges = {
      ...Object.assign({}, ...all),
      body: Object.assign({}, ...all.map(({ body }) => body)),
      claims: Object.assign({}, ...all.map(({ claims }) => claims)),
    };
    const headers = Object.assign({ 'idempotency-key': randomUUID() }, ...wrong.map(({ headers: own }) => own?.()));
    return service.submit(await service.submission(merged), headers as Record<string, string>);
  }

  const rowCount = async () =>
    (await service.database.pool.query('SELECT count(*)::int AS n FROM approvals.access_request')).rows[0].n as number;

  const pairs = faults.flatMap((first, i) => faults.slice(i + 1).map((second) => [first, second] as const));
  it.each(pairs.map(([first, second]) => [first.name, second.name, first, second] as const))(
    'checks the %s before the %s [PRJ-09] [ARAP-BND-14]',
    async (_first, _second, first, second) => {
      const before = await rowCount();
      const { status, body, headers } = await submit([first, second]);
      const [expected, type, detail] = first.answer;
      expect([status, body.type]).toEqual([expected, type]);
      expect(body.detail ?? '').toContain(detail);
      expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(await rowCount()).toBe(before);
    },
  );

  it.each(faults.map((fault) => [fault.name, fault] as const))(
    'reports each fault alone: %s [PRJ-11] [ARAP-ERR-01]',
    async (_name, fault) => {
      const { status, body } = await submit([fault]);
      const [expected, type, detail] = fault.answer;
      expect([status, body.type, body.status]).toEqual([expected, type, expected]);
      expect(body.detail ?? '').toContain(detail);
    },
  );

  it('checks the size before the shape, and the key before whether the denial is requestable [PRJ-09]', async () => {
    const large = await service.submit({ client: 7, padding: 'x'.repeat(6_000_000) });
    expect([large.status, large.body.type]).toEqual([413, 'about:blank']);
    const { denial, ...rest } = await service.submission();
    service.recorded.set('eval_plain', { status: 200, body: { requestable: false } });
    const plain = { ...rest, denial: { expires_at: denial.expires_at, evaluation_id: 'eval_plain' } };
    expect((await service.submit(plain, { 'idempotency-key': 'used' })).body.type).toBe(`${URN}duplicate_request`);
    expect((await service.submit(plain)).body.type).toBe(`${URN}not_requestable`);
  });
});
