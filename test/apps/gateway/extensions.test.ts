import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { send, transfer } from '../../support/gateway-wire.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const APPROVAL = 'io.modelcontextprotocol/tool-approval';
const ALIAS = 'net.openid.authzen/tool-approval';
const DISPOSITION = 'io.modelcontextprotocol/tool-approval-disposition';
const DISPOSITION_ALIAS = 'net.openid.authzen/disposition';

const withAlias = new GatewayUnderTest();
const without = new GatewayUnderTest({ approvalAlias: false });
const gateways = [withAlias, without];
beforeAll(() => Promise.all(gateways.map((gateway) => gateway.start())));
afterAll(() => Promise.all(gateways.map((gateway) => gateway.stop())));
beforeEach(() => gateways.forEach((gateway) => gateway.reset()));

const ended = aView({ state: 'executed', result: JSON.stringify({ content: [{ type: 'text', text: 'booked' }] }) });

/** The texts of a waiting call, and of its task before and after its end. */
async function lifeOf(gateway: GatewayUnderTest, extensions: object): Promise<string[]> {
  const { world } = gateway;
  world.decision = requestable();
  world.view = aView();
  const options = { capabilities: { extensions: { [TASKS]: {}, ...extensions } } };
  const look = () => send(gateway, 'tasks/get', { taskId: TASK_ID }, options);
  const called = await send(gateway, 'tools/call', transfer(), options);
  const waiting = await look();
  world.view = ended;
  return [called, waiting, await look()].map(({ text }) => text);
}

describe('the approval extension', () => {
  it.each([[{}], [{ [APPROVAL]: {} }], [{ [ALIAS]: {} }], [{ [ALIAS]: { version: '0.1' } }]])(
    'is the same for a client that declares %j of it',
    async (extensions) => {
      const life = await lifeOf(withAlias, extensions);
      expect(life).toEqual(await lifeOf(withAlias, {}));
      expect(life[2]).toContain(`"${DISPOSITION}":"approved-executed","${DISPOSITION_ALIAS}":"approved-executed"`);
    },
  );

  it('uses only its present name where the operator wants that', async () => {
    const { result } = (await send(without, 'server/discover')).body;
    const { extensions } = result?.['capabilities'] as { extensions: object };
    expect(Object.keys(extensions)).toEqual([
      TASKS,
      APPROVAL,
      'io.modelcontextprotocol/ui',
      'io.modelcontextprotocol/structured-authorization-denials',
    ]);
    const [, , last] = await lifeOf(without, {});
    expect(last).toContain(`"${DISPOSITION}":"approved-executed"`);
    expect(last).not.toContain('net.openid.authzen');
  });
});
