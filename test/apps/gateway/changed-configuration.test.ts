import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RECONFIGURED } from '../../../workflows/domain/upstream-ports.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { send, transfer } from '../../support/gateway-wire.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.reset();
  gateway.change({ tools: { bank__transfer: { effect: 'read' } } });
});

/** Runs this while the first decision is under way. */
function duringFirstDecision(change: () => unknown): void {
  world.decision = async () => {
    if (world.evaluations.length === 1) change();
    return { kind: 'allow' };
  };
}
const effects = () => world.evaluations.map(({ context }) => (context['call'] as { effect?: string }).effect);
const callTransfer = () => send(gateway, 'tools/call', transfer());

describe('a call during whose decision another configuration comes into force', () => {
  it('is bound and decided on again, by the new one alone', async () => {
    duringFirstDecision(() => gateway.change({ tools: { bank__transfer: { effect: 'delete' } } }));
    const { body } = await callTransfer();
    expect(body.result).toMatchObject({ content: [{ text: 'booked' }] });
    expect(effects()).toEqual(['read', 'delete']);
    expect(world.invocations).toHaveLength(1);
  });

  it('is decided on again even if the new one says the same', async () => {
    duringFirstDecision(() => gateway.change({ tools: { bank__transfer: { effect: 'read' } } }));
    await callTransfer();
    expect(effects()).toEqual(['read', 'read']);
  });

  it('is not made if its token lacks a scope that the tool needs by now', async () => {
    const tools = { bank__transfer: { effect: 'read', scopes: ['bank:write'] } };
    duringFirstDecision(() => gateway.change({ tools }));
    const { body } = await callTransfer();
    expect(body.error?.message).toContain('The tool did not run. The call may be repeated later.');
    expect(world.invocations).toEqual([]);
    const again = await callTransfer();
    expect([again.status, again.headers.get('www-authenticate')]).toEqual([403, expect.stringContaining('bank:write')]);
  });

  it('ends with an error that says so if configurations change without an end', async () => {
    world.decision = async () => {
      gateway.change({ tools: {} });
      return { kind: 'allow' };
    };
    const { body } = await callTransfer();
    expect(body.error?.message).toContain('The call may be repeated later.');
    expect([world.evaluations.length, world.invocations.length]).toEqual([10, 0]);
  });
});

it('a call is decided on again when its upstream was configured anew before it was sent', async () => {
  const booked = world.invocation;
  world.invocation = { kind: 'not_sent', cause: RECONFIGURED };
  world.decision = async () => {
    if (world.evaluations.length === 2) world.invocation = booked;
    return { kind: 'allow' };
  };
  const { body } = await callTransfer();
  expect(body.result).toMatchObject({ content: [{ text: 'booked' }] });
  expect([world.evaluations.length, world.invocations.length]).toEqual([2, 2]);
});

it('the scopes that the metadata names follow the tools', async () => {
  const metadata = async () => {
    const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource/mcp`);
    return ((await response.json()) as { scopes_supported: string[] }).scopes_supported;
  };
  expect(await metadata()).toEqual(['mcp']);
  gateway.change({ tools: { bank__transfer: { scopes: ['bank:write'] } } });
  expect(await metadata()).toEqual(['mcp', 'bank:write']);
});
