import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { REQUEST_REF, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { metaOf, send, textOf, transfer } from '../../support/gateway-wire.ts';
import { MODEL_BUILDERS, type Model } from '../../support/models-of-schemas.ts';

const gateway = new GatewayUnderTest({ requestByItself: false, waitSeconds: 0 });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

interface Listed {
  readonly name: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

const WANTED = { to: 'acct-1', amount: 5 };
/** Useful forms in which a model writes the arguments of each listed own tool. */
const WRITTEN: Readonly<Record<string, readonly Json[]>> = {
  request_access: [
    { tool: 'bank__transfer', arguments: WANTED },
    { tool: 'bank__transfer', arguments: JSON.stringify(WANTED) },
  ],
  get_request_status: [{ reference: REQUEST_REF }, {}],
};
const call = (name: string, args: unknown) =>
  send(gateway, 'tools/call', { name, arguments: args }, { capabilities: {} });
const listed = async () => {
  const { result } = (await send(gateway, 'tools/list', {}, { capabilities: {} })).body;
  return (result?.['tools'] as readonly Listed[]).filter(({ name }) => !name.startsWith('bank__'));
};

describe.each(MODEL_BUILDERS)('a client that builds calls from the schema with %s', (_name, build) => {
  it('can call every own tool with all its arguments', async () => {
    const tools = await listed();
    expect(tools.map(({ name }) => name).sort()).toEqual(Object.keys(WRITTEN).sort());
    for (const { name, inputSchema } of tools) {
      const model: Model = build(inputSchema);
      for (const args of WRITTEN[name] ?? []) {
        gateway.reset();
        world.decision = requestable();
        const { result } = (await call(name, model(args))).body;
        expect([name, result?.['isError'], textOf(result)]).toEqual([
          name,
          undefined,
          expect.stringMatching(/has not run|no requests on record/),
        ]);
        if (name === 'request_access')
          expect(world.openings.map(({ binding }) => binding.arguments)).toEqual(['{"amount":5,"to":"acct-1"}']);
        else expect(world.lookups).toMatchObject([{ taskId: 'reference' in Object(args) ? TASK_ID : 'recent' }]);
      }
    }
  });

  it('can use the schema in a refused call', async () => {
    world.decision = requestable();
    const refused = await send(gateway, 'tools/call', transfer(), { capabilities: {} });
    const step = metaOf(refused.body.result)['dev.countersign/next-step'] as { tool: string; requestSchema: object };
    const model = build(step.requestSchema as never);
    const { result } = (await call(step.tool, model({ tool: 'bank__transfer', arguments: WANTED }))).body;
    expect(textOf(result)).toContain(REQUEST_REF);
  });
});

describe('wrong arguments', () => {
  beforeEach(() => void (world.decision = requestable()));

  it.each([
    [{}, /tool is not valid: it must be the name of a tool/],
    [{ tool: 5, arguments: WANTED }, /tool is not valid/],
    [{ tool: 'x'.repeat(257) }, /tool is not valid.*256/],
    [
      { tool: 'bank__transfer', arguments: [] },
      /arguments is not valid: it must be an object, or the JSON text of one/,
    ],
    [{ tool: 'bank__transfer', arguments: 5 }, /arguments is not valid: it must be an object/],
    [{ tool: 'bank__transfer', arguments: '' }, /arguments is not valid: its text is not the JSON of an object/],
    [{ tool: 'bank__transfer', arguments: '[1]' }, /arguments is not valid: its text is not the JSON of an object/],
    [{ tool: 'bank__transfer', arguments: '"{}"' }, /arguments is not valid: its text is not/],
    [
      { tool: 'bank__transfer', arguments: '{"to":"a","to":"canary"}' },
      /arguments is not valid: its text gives a member twice/,
    ],
    [
      { tool: 'bank__transfer', arguments: '{"amount":9007199254740993}' },
      /arguments is not valid.*cannot|too long to be kept/,
    ],
    [{ tool: 'bank__transfer', arguments: '{"__proto__":1}' }, /arguments is not valid.*cannot be kept/],
    [{ tool: 'bank__transfer', arguments: '['.repeat(300) }, /arguments is not valid.*more than 200 levels/],
    [{ tool: 'bank__transfer', canary: 1 }, /the only members are tool and arguments/],
    [{ tool: 5, arguments: 5 }, /tool is not valid.*arguments is not valid/],
  ])('are refused with the name of the member: %j', async (args, problem) => {
    const { result } = (await call('request_access', args)).body;
    expect([result?.['isError'], textOf(result)]).toEqual([true, expect.stringMatching(problem)]);
    expect(textOf(result)).not.toContain('canary');
    expect([world.evaluations, world.openings]).toEqual([[], []]);
  });

  it.each([
    [{ tool: 'bank__transfer' }],
    [{ tool: 'bank__transfer', arguments: null }],
    [{ tool: 'bank__transfer', arguments: '{}' }],
  ])('get advice on how to send them when they arrive empty: %j', async (args) => {
    const { result } = (await call('request_access', args)).body;
    expect([result?.['isError'], textOf(result)]).toEqual([
      true,
      expect.stringMatching(/arguments is empty.*JSON text/s),
    ]);
  });
});
