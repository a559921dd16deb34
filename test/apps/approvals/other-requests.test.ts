import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { askerOf, aTransfer, denialOf, denying } from '../../support/bundles.ts';

const service = new ApprovalsUnderTest();
beforeAll(() => service.start());
afterAll(() => service.stop());

it('a request that is not a tool call shows the question to policy, and does not say that a tool runs', async () => {
  const item = aTransfer();
  const { body } = await service.submit({ ...askerOf({}), ...item, denial: await denialOf(item, denying(service)) });
  const path = `/requests/${body.task.id as string}`;
  const browser = await service.signIn('alice');
  const page = async () => (await browser.go(path)).text();
  const open = await page();
  for (const said of ['The requested access', 'wire_transfer', item.resource.id, 'exactly this is allowed']) {
    expect(open).toContain(said);
  }
  const { request } = (await service.asPerson('alice', path)).body;
  expect((await service.vote('alice', request, 'approve')).status).toBe(200);
  const ended = await page();
  expect(ended).toContain('It is allowed for as long as the approval is valid, unless policy denies it.');
  for (const text of [open, ended]) expect(text).not.toMatch(/\bnull\b|call runs|What will run|Needs approval because/);
});
