import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { ofPerson } from '../../support/submissions.ts';

const service = new ApprovalsUnderTest();
beforeAll(() =>
  service.start({
    approvals: {
      channels: {},
      templates: { own: { stages: [{ name: 'one', approvers: { requester: true, roles: ['approver'] } }] } },
    },
  }),
);
afterAll(() => service.stop());

const FOR_PROGRAMS = 'such as `countersign token` prints';
const OF_OTHERS = 'You or your agent requested this';
const open = (agent: string) => {
  const own = ofPerson(service.config.urls.issuer, { person: 'alice', agent });
  return service.open({ ...own, claims: { template: 'own' } });
};
const seenBy = async (name: string, id: string) => (await (await service.signIn(name)).go(`/requests/${id}`)).text();

it('is why a person cannot confirm a call, which the page says while the request is open', async () => {
  const byToken = await open('alice');
  const page = await seenBy('alice', byToken.id);
  expect(page).toContain(OF_OTHERS);
  expect(page).toContain(FOR_PROGRAMS);
  await service.vote('bob', byToken, 'approve');
  const after = await seenBy('alice', byToken.id);
  expect(after).toContain('This request has ended.');
  for (const words of [OF_OTHERS, FOR_PROGRAMS]) expect(after).not.toContain(words);
});

it('is not the matter where a person signed in to the agent', async () => {
  const bySignIn = await open('a-host');
  const page = await seenBy('alice', bySignIn.id);
  expect(page).toContain('You confirm what your own agent wants to do');
  for (const words of [OF_OTHERS, FOR_PROGRAMS]) expect(page).not.toContain(words);
});

it('reads no mailbox: that needs a sign-in as an approver', async () => {
  const json = { headers: { accept: 'application/json' } };
  expect((await service.fetch('/mailbox', json)).status).toBe(401);
  const mcp = await service.token('agent', 'mcp');
  expect(
    (await service.fetch('/mailbox', { headers: { ...json.headers, authorization: `Bearer ${mcp}` } })).status,
  ).toBe(401);
  expect((await service.asPerson('agent', '/mailbox', json)).status).toBe(403);
  const page = await service.fetch('/mailbox', { headers: { accept: 'text/html' }, redirect: 'manual' });
  expect([page.status, page.headers.get('location')]).toEqual([303, expect.stringContaining('/sign-in')]);
  expect(await (await (await service.signIn('bob')).go('/mailbox')).text()).toContain('Nothing here was sent.');
});
