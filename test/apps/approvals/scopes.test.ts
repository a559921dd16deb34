import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';

/** The issuer grants a scope that the inbox does not need, and a person may ask for fewer scopes. */
const service = new ApprovalsUnderTest();
beforeAll(() => service.start({ approvals: { scopes: ['approvals', 'votes'] } }));
afterAll(() => service.stop());

const asAliceWith = async (scope: string) => {
  const token = await service.tokenWith({ sub: 'alice', roles: ['approver'], scope });
  return fetch(`${service.url}/requests`, { headers: { authorization: `Bearer ${token}` } });
};

it('an access token that lacks a scope of the inbox reads no requests, and the refusal names the scopes', async () => {
  const answer = await asAliceWith('approvals');
  expect(answer.status).toBe(403);
  expect(answer.headers.get('www-authenticate')).toMatch(/error="insufficient_scope", scope="approvals votes"/);
  expect((await asAliceWith('approvals votes')).status).toBe(200);
});
