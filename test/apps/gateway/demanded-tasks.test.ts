import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { earlierCall } from '../../support/earlier-call.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { REQUEST_REF, requestable } from '../../support/gateway-world.ts';
import { send, textOf, transfer } from '../../support/gateway-wire.ts';

/** From a client without tasks. */
const call = (gateway: GatewayUnderTest) => send(gateway, 'tools/call', transfer(), { capabilities: {} });

describe('a client that must declare tasks for one tool', () => {
  const choosy = new GatewayUnderTest({ demandTasks: ['bank__transfer'], requestByItself: false });
  beforeAll(() => choosy.start());
  afterAll(() => choosy.stop());

  it('gets an error when it calls that tool, and a message for other tools [TASK-006]', async () => {
    choosy.reset();
    choosy.world.decision = requestable();
    expect((await call(choosy)).body.error?.code).toBe(-32_021);
    const other = await send(choosy, 'tools/call', { name: 'bank__anything', arguments: {} }, { capabilities: {} });
    expect(other.body.result).toMatchObject({ isError: true, content: [{ type: 'text' }] });
    expect(choosy.world.openings).toEqual([]);
  });
});

describe('a client that must declare tasks', () => {
  const demanding = new GatewayUnderTest({ demandTasks: true, waitSeconds: 1 });
  beforeAll(() => demanding.start());
  afterAll(() => demanding.stop());
  beforeEach(() => {
    demanding.reset();
    demanding.world.decision = requestable();
  });

  it('gets -32021 when it does not, and no request is opened [TASK-006, TASK-007]', async () => {
    const { status, body } = await call(demanding);
    expect([status, body.error?.code]).toEqual([400, -32_021]);
    expect(body.error?.data).toEqual({
      requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
    expect([demanding.world.openings, demanding.world.invocations]).toEqual([[], []]);
  });

  it('gets answers to calls that need no approval', async () => {
    demanding.world.decision = { kind: 'allow' };
    expect(textOf((await call(demanding)).body.result)).toBe('booked');
  });

  it('may wait in an earlier revision, which cannot declare tasks', async () => {
    const received = await earlierCall(demanding);
    expect([received.isError, JSON.stringify(received)]).toEqual([true, expect.stringContaining(REQUEST_REF)]);
  });
});
