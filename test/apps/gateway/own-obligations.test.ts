import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startChangingUpstream } from '../../support/changing-upstream.ts';
import { aReceiver, type Receiver } from '../../support/obligation-world.ts';
import { startTestPdp } from '../../support/pdp.ts';
import { PolicyFolder } from '../../support/policy-folder.ts';
import { startRealGateway } from '../../support/real-gateway.ts';

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

let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
let receiver!: Receiver;
let pdp!: Awaited<ReturnType<typeof startTestPdp>>;
let real!: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  bank = await startChangingUpstream({
    description: 'Pays.',
    properties: { amount: { type: 'integer' } },
    annotations: {},
  });
  receiver = await aReceiver();
  const enforcementPoints = [{ name: 'gateway', token: 'pdp-token-of-the-gateway' }];
  pdp = await startTestPdp({ policies: folder.path, enforcementPoints });
  real = await startRealGateway(
    {},
    {
      mcpServers: { bank: { url: bank.url } },
      pdp: { url: pdp.origin, metadata: 'ignored' },
      obligations: { notification: { 'treasury-audit': receiver.at('audit') } },
    },
  );
});
afterAll(async () => {
  await real?.stop();
  await pdp?.stop();
  await receiver?.close();
  await bank?.close();
  folder.clear();
});
beforeEach(() => receiver.reset());

const pay = async (claims: object) => {
  const token = await real.authority.token({ aud: real.mcpUrl, ...claims });
  return (await real.send('tools/call', { name: 'bank__pay', arguments: { amount: 5 } }, token)).body;
};

it('what a policy of ours demands is done before its permit lets a call run [OBL-01, OBL-06, OBL-15]', async () => {
  let callsAtArrival: number | undefined;
  receiver.answer = () => {
    callsAtArrival = bank.calls;
    return 200;
  };
  expect((await pay({ acr: 'loa:3' })).result).toMatchObject({ content: [{ text: 'paid' }] });
  expect([callsAtArrival, bank.calls]).toEqual([0, 1]);
  expect(receiver.arrived).toMatchObject([
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

it('what cannot be done lets none run [OBL-07]', async () => {
  const before = bank.calls;
  expect((await pay({})).result).toMatchObject({ isError: true });
  receiver.answer = () => 500;
  expect((await pay({ acr: 'loa:3' })).error).toMatchObject({ code: -32_603 });
  expect(bank.calls).toBe(before);
});
