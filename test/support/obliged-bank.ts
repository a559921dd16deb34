import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { startChangingUpstream } from './changing-upstream.ts';
import { aReceiver, type Receiver } from './obligation-world.ts';
import { startRealGateway } from './real-gateway.ts';

type Sections = NonNullable<Parameters<typeof startRealGateway>[1]>;

interface ObligedBank {
  bank: Awaited<ReturnType<typeof startChangingUpstream>>;
  receiver: Receiver;
  real: Awaited<ReturnType<typeof startRealGateway>>;
}

/**
 * Gives the tests of a file a gateway before a bank, and a receiver of its obligations. `sections`: more of the
 * gateway's configuration, known once the earlier hooks have run. The result is filled in before the first test.
 */
export function ownObligedBank(sections: () => Sections = () => ({})) {
  const own = {} as ObligedBank;
  beforeAll(async () => {
    own.bank = await startChangingUpstream({
      description: 'Pays.',
      properties: { amount: { type: 'integer' } },
      annotations: {},
      items: { prompt: 'Asks.', resource: 'Paper.', template: 'A drawer.' },
    });
    own.receiver = await aReceiver();
    const obligations = { notification: { 'treasury-audit': own.receiver.at('audit') } };
    own.real = await startRealGateway({}, { mcpServers: { bank: { url: own.bank.url } }, obligations, ...sections() });
  });
  afterAll(async () => {
    await own.real?.stop();
    await own.receiver?.close();
    await own.bank?.close();
  });
  beforeEach(() => {
    own.real.reset();
    own.receiver.reset();
  });
  let last = 0;
  const tokenWith = (claims: object) => own.real.authority.token({ aud: own.real.mcpUrl, ...claims });
  return Object.assign(own, {
    tokenWith,
    /** Makes a payment, of another amount each time by default; answers the body. */
    async pay(claims: object = {}, amount = (last += 1)) {
      const params = { name: 'bank__pay', arguments: { amount } };
      return (await own.real.send('tools/call', params, await tokenWith(claims))).body;
    },
  });
}
