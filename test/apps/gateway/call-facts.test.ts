import { afterEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { send } from '../../support/gateway-wire.ts';
import { aTool } from '../../support/tools.ts';

const MAPPING = {
  evaluation: {
    subject: { type: 'identity', id: '$token.sub' },
    action: { name: 'look' },
    resource: { type: 'thing', id: 'x' },
    context: { call: { tool: 'bank__other', effect: 'read', roles: ['admin'] } },
  },
};

let gateway: GatewayUnderTest | undefined;
afterEach(() => gateway?.stop());

/** What the gateway says of a call in its evaluation request. */
async function factsOf(definition: JsonObject, config: ConstructorParameters<typeof GatewayUnderTest>[0] = {}) {
  gateway = new GatewayUnderTest(config);
  await gateway.start();
  gateway.world.listed = [aTool({ name: 'look', inputSchema: { type: 'object' }, ...definition })];
  await send(gateway, 'tools/call', { name: 'bank__look', arguments: {} });
  return gateway.world.evaluations.map(({ context }) => context['call']);
}

/** The digest is that of the described tool. */
const LOOK = { tool: 'bank__look', server: 'bank', tool_digest: 'sha-256:0000', roles: ['teller'] };

describe('the facts of a call in its evaluation request', () => {
  it('name the tool, its server, its description by a digest, and the roles of the token', async () => {
    expect(await factsOf({})).toEqual([LOOK]);
  });

  it('have the effect that the operator states, even against what the server says', async () => {
    const said = { annotations: { readOnlyHint: true }, _meta: { 'mcp.dev/effect': 'read' } };
    expect(await factsOf(said, { tools: { bank__look: { effect: 'delete' } } })).toMatchObject([{ effect: 'delete' }]);
  });

  it('have no effect of a description that no operator accepted', async () => {
    const said = { annotations: { readOnlyHint: true }, _meta: { 'mcp.dev/effect': 'read' } };
    const [facts] = await factsOf(said);
    expect(facts).not.toHaveProperty('effect');
  });

  it.each([
    [{ readOnlyHint: true }, 'read'],
    [{ readOnlyHint: false, destructiveHint: false }, 'write'],
    [{ destructiveHint: true }, 'delete'],
    [{ readOnlyHint: false }, undefined],
  ])('have the effect of a description that an operator accepted: %j', async (annotations, effect) => {
    const [facts] = await factsOf({ annotations }, { signature: { pinning: 'accepted' } });
    expect((facts as JsonObject)['effect']).toBe(effect);
  });

  it('cannot be set by a mapping of the upstream', async () => {
    const inputSchema = { type: 'object', 'x-authzen-mapping': MAPPING };
    expect(await factsOf({ inputSchema })).toEqual([LOOK]);
  });
});
