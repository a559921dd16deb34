import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ownObligedBank } from '../../support/obliged-bank.ts';
import { startTestPdp } from '../../support/pdp.ts';
import { PolicyFolder } from '../../support/policy-folder.ts';

const POLICIES = `
@id("pay") @obligation("tell, sign-in") permit (principal, action, resource) when { resource.id == "bank__pay" };
`;
const folder = new PolicyFolder({
  'o.cedar': POLICIES,
  'tell.obligation.json': JSON.stringify({
    type: 'notification',
    properties: { to: 'treasury-audit', body: 'a transfer' },
  }),
  'sign-in.obligation.json': JSON.stringify({ type: 'step-up', properties: { acr_value: 'loa:3' } }),
});

let pdp!: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => {
  const enforcementPoints = [{ name: 'gateway', token: 'pdp-token-of-the-gateway' }];
  pdp = await startTestPdp({ policies: folder.path, enforcementPoints });
});
afterAll(async () => {
  await pdp?.stop();
  folder.clear();
});
const own = ownObligedBank(() => ({ pdp: { url: pdp.origin, metadata: 'ignored' } }));
const { pay } = own;

it('obligations of our own policy are carried out before its permit lets a call run [OBL-01, OBL-06, OBL-15]', async () => {
  let callsAtArrival: number | undefined;
  own.receiver.answer = () => {
    callsAtArrival = own.bank.calls;
    return 200;
  };
  expect((await pay({ acr: 'loa:3' })).result).toMatchObject({ content: [{ text: 'paid' }] });
  expect([callsAtArrival, own.bank.calls]).toEqual([0, 1]);
  expect(own.receiver.arrived).toMatchObject([
    {
      path: '/audit',
      body: {
        evaluation_id: expect.stringMatching(/^eval_/),
        decision: true,
        obligation: { id: 'tell', type: 'notification', properties: { to: 'treasury-audit', body: 'a transfer' } },
      },
    },
  ]);
});

it('an obligation that cannot be carried out keeps the call from running [OBL-07]', async () => {
  const before = own.bank.calls;
  expect((await pay()).result).toMatchObject({ isError: true });
  own.receiver.answer = () => 500;
  expect((await pay({ acr: 'loa:3' })).error).toMatchObject({ code: -32_603 });
  expect(own.bank.calls).toBe(before);
});
