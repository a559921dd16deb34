import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Decision } from '../../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { EFFECTS, SENSITIVITIES, type ToolSettings } from '../../../workflows/domain/tools/tool-facts.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { requestable } from '../../support/gateway-world.ts';
import { send } from '../../support/gateway-wire.ts';
import { aTool } from '../../support/tools.ts';

// The random calls of one caller can ask for more approvals than the default limit allows in a minute.
const gateway = new GatewayUnderTest({ redactAbove: 'internal', maxSubmissionsPerMinute: 1_000 });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());

const SECRET = 'canary-secret';
const junk = fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<never>;
const orJunk = <T>(...values: readonly T[]) => fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...values) }, junk);
/** Hints of an upstream, valid or not. */
const hints = fc.record(
  {
    'mcp.dev/effect': orJunk(...EFFECTS),
    'mcp.dev/idempotent': orJunk(true, false),
    'mcp.dev/requiresConfirmation': orJunk(true, false),
    'mcp.dev/resultSensitivity': orJunk(...SENSITIVITIES),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;
const annotations = fc.record(
  { readOnlyHint: fc.boolean(), destructiveHint: fc.boolean(), openWorldHint: fc.boolean() },
  { requiredKeys: [] },
);
const settings: fc.Arbitrary<ToolSettings> = fc.record(
  { effect: fc.constantFrom(...EFFECTS), resultSensitivity: fc.constantFrom(...SENSITIVITIES) },
  { requiredKeys: [] },
);
const requirements = fc.subarray(['env:a', 'env:b']);
const decisions = fc.constantFrom<Decision>({ kind: 'allow' }, { kind: 'deny' }, requestable());

interface Given {
  readonly annotations: JsonObject;
  readonly settings: ToolSettings;
  readonly requirements: string[];
  readonly unmet: string[];
  readonly decision: Decision;
  readonly acceptsTask: boolean;
}

/** The effect of a call whose upstream gives these hints. */
async function tryCall(given: Given, meta: JsonObject | undefined) {
  gateway.reset();
  const definition = {
    name: 'look',
    inputSchema: { type: 'object' },
    annotations: given.annotations,
    execution: { requirements: given.requirements },
    ...(meta !== undefined && { _meta: meta }),
  };
  world.listed = [aTool(definition, { settings: given.settings })];
  world.verdict = { unmet: given.requirements.filter((one) => given.unmet.includes(one)), undecided: [] };
  world.decision = given.decision;
  world.invocation = { kind: 'result', isError: false, result: { content: [{ type: 'text', text: SECRET }] } };
  const capabilities = given.acceptsTask ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {};
  const { text } = await send(gateway, 'tools/call', { name: 'bank__look', arguments: {} }, { capabilities });
  const { questions, evaluations, invocations, openings } = world;
  return {
    asked: structuredClone({ questions, evaluations }),
    opened: structuredClone(openings.map(({ binding, decision }) => ({ binding, decision }))),
    sent: structuredClone(invocations),
    isResultShown: text.includes(SECRET),
  };
}

it('no hint of an upstream, and no change of a hint, gives more access than the operator gave [HINT-004]', async () => {
  const given = fc.record({
    annotations,
    settings,
    requirements,
    unmet: requirements,
    decision: decisions,
    acceptsTask: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(given as fc.Arbitrary<Given>, hints, hints, async (tool, before, after) => {
      const [none, one, other] = [
        await tryCall(tool, undefined),
        await tryCall(tool, before),
        await tryCall(tool, after),
      ];
      // Policy questions, held calls and sent calls do not depend on hints at all.
      for (const { asked, opened, sent } of [one, other]) {
        expect({ asked, opened, sent }).toEqual({ asked: none.asked, opened: none.opened, sent: none.sent });
      }
      // A hint can cause a result to be withheld. No hint reveals a result that the operator's settings withhold.
      for (const { isResultShown } of [one, other]) expect(none.isResultShown || !isResultShown).toBe(true);
      if (tool.settings.resultSensitivity !== undefined) expect(one.isResultShown).toBe(none.isResultShown);
    }),
    { numRuns: 60 },
  );
});

it('the gateway passes annotations of an upstream to policy and trusts no annotation itself [TOOL-010]', async () => {
  const given = fc.record({ settings, decision: decisions, acceptsTask: fc.boolean() });
  const demanding = { requirements: [], unmet: [] };
  await fc.assert(
    fc.asyncProperty(
      given as fc.Arbitrary<Pick<Given, 'settings' | 'decision' | 'acceptsTask'>>,
      annotations,
      async (tool, said) => {
        const none = await tryCall({ ...tool, ...demanding, annotations: {} }, undefined);
        const some = await tryCall({ ...tool, ...demanding, annotations: said }, undefined);
        const unannotated = withoutAnnotations(some);
        expect(unannotated).toEqual(withoutAnnotations(none));
        for (const { resource } of some.asked.evaluations) expect(resource.properties).toEqual({ annotations: said });
      },
    ),
    { numRuns: 60 },
  );
});

const withoutAnnotations = (tried: unknown): unknown =>
  JSON.parse(JSON.stringify(tried, (key, value: unknown) => (key === 'annotations' ? undefined : value)));
