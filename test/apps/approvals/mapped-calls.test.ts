import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { wordsOf } from '../../support/pages.ts';

const service = new ApprovalsUnderTest();
beforeAll(() => service.start());
afterAll(() => service.stop());

it('a call with a mapping is shown in full, under its tool and beside the mapped request [PRJ-17] [COAZ-SE-02]', async () => {
  const alice = await service.signIn('alice');
  const tool = 'bank__wire_transfer';
  const { id } = await service.open({
    ...{ tool, arguments: { to: 'acct-991', amount: 50_000, memo: 'not mapped' } },
    mapped: { action: { name: 'wire_transfer' }, resource: { type: 'account', id: 'acct-991' } },
    context: { tool, amount: 50_000 },
    members: ['agent', 'amount', 'arguments', 'call_digest', 'tool'],
  });
  const page = await (await alice.go(`/requests/${id}`)).text();
  expect(page).toMatch(/<h1>.*bank__wire_transfer.*<\/h1>/);
  expect(page).toContain('not mapped');
  expect(wordsOf(page)).toMatch(/Evaluated by policy as.*wire_transfer, on account acct-991/);
});
