import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { SubmissionChanges } from '../../support/submissions.ts';

const URN = 'urn:openid:authzen:access-request:error:';
const INVALID = [400, `${URN}invalid_denial_binding`];
const INLINE = { subject: undefined, resource: undefined, action: undefined, context: undefined };

describe('a submission that names its denial only by the evaluation', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());

  /** A submission without the token, which the PDP has recorded. */
  async function recorded(changes: SubmissionChanges = {}, echo: object = {}) {
    const { denial, ...rest } = await service.submission({ ...changes, claims: { ...INLINE, ...changes.claims } });
    const { binding_token, ...others } = denial;
    service.recorded.set(others.evaluation_id, { status: 200, body: { binding_token } });
    return { ...rest, denial: { ...others, ...echo } };
  }
  const refusal = async (body: object) => {
    const answer = await service.submit(body);
    return [answer.status, answer.body.type];
  };
  const past = () => new Date((Math.floor(Date.now() / 1_000) - 31) * 1_000);
  const later = () => new Date(Date.now() + 3_600_000).toISOString();

  it("is bound to the PDP's record, which the service reads with its own credential [ARAP-SUB-12] [ARAP-SUB-13] [ARAP-BND-19]", async () => {
    const body = await recorded();
    expect((await service.submit(body)).status).toBe(202);
    const asked = service.pdpAsked.find(({ path }) => path.endsWith(body.denial.evaluation_id));
    const proof = asked?.authorization?.replace('Bearer ', '') ?? '';
    expect(decodeProtectedHeader(proof)).toMatchObject({ typ: 'service+jwt' });
    expect(decodeJwt(proof)).toMatchObject({ iss: service.config.urls.accessRequests, aud: service.config.urls.pdp });
  });

  it('is refused when any part differs from what was denied [ARAP-BND-19] [ARAP-SUB-09]', async () => {
    for (const change of [
      { subject: { type: 'identity', id: 'mallory' } },
      { action: { name: 'tools/list' } },
      { resource: { type: 'tool', id: 'files__read_file' } },
    ]) {
      expect(await refusal({ ...(await recorded()), ...change })).toEqual(INVALID);
    }
    const body = await recorded();
    expect(await refusal({ ...body, context: { ...body.context, agent: 'another' } })).toEqual(INVALID);
  });

  it('is as fresh as the record says, regardless of its own expiry [ARAP-BND-19] [ARAP-EID-05]', async () => {
    const stale = await recorded({ expiresAt: past() }, { expires_at: later() });
    expect(await refusal(stale)).toEqual([410, `${URN}expired_denial`]);
    expect((await service.submit(await recorded({}, { expires_at: later() }))).status).toBe(202);
  });

  it('opens only one task [PRJ-10]', async () => {
    const body = await recorded();
    const answers = await Promise.all(Array.from({ length: 6 }, () => refusal(body)));
    expect(answers.filter(([status]) => status === 202)).toHaveLength(1);
    expect(answers.filter(([status]) => status === 400)).toEqual(Array(5).fill(INVALID));
  });

  it('is refused when the PDP has no such evaluation or does not show it [ARAP-BND-24] [ARAP-SUB-13] [ARAP-SUB-11]', async () => {
    const { denial, ...rest } = await service.submission();
    const { binding_token: _token, evaluation_id: _id, ...bare } = denial;
    expect(await refusal({ ...rest, denial: { ...bare, evaluation_id: 'eval_invented' } })).toEqual(INVALID);
    expect(await refusal({ ...rest, denial: { ...bare, evaluation_id: '../../jwks' } })).toEqual(INVALID);
    // Without both there is no binding, and a time alone proves nothing (ARAP-EID-09).
    expect(await refusal({ ...rest, denial: bare })).toEqual(INVALID);
  });

  it('is refused when the record is about another evaluation [PRJ-07] [ARAP-BND-13]', async () => {
    const [one, other] = [await recorded(), await recorded()];
    service.recorded.set(
      one.denial.evaluation_id,
      service.recorded.get(other.denial.evaluation_id) ?? { status: 404, body: {} },
    );
    expect(await refusal({ ...other, denial: one.denial })).toEqual(INVALID);
  });

  it('is refused as not requestable when the record says so [ARAP-SUB-22] [ARAP-ERR-02]', async () => {
    const body = await recorded();
    service.recorded.set(body.denial.evaluation_id, { status: 200, body: { requestable: false } });
    expect(await refusal(body)).toEqual([400, `${URN}not_requestable`]);
  });

  it('may be repeated when the PDP does not answer with its record', async () => {
    const body = await recorded();
    service.recorded.set(body.denial.evaluation_id, { status: 500, body: {} });
    expect(await refusal(body)).toEqual([503, 'about:blank']);
    const { rows } = await service.database.pool.query(
      'SELECT FROM approvals.access_request WHERE evaluation_id = $1',
      [body.denial.evaluation_id],
    );
    expect(rows).toHaveLength(0);
  });
});
