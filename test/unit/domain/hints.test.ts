import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import {
  contradictionsIn,
  EFFECTS,
  isAbove,
  SENSITIVITIES,
  toolFacts,
  type ToolSettings,
} from '../../../workflows/domain/tools/tool-facts.ts';

const hinting = (meta: JsonObject, annotations?: JsonObject): JsonObject => ({
  _meta: meta,
  ...(annotations !== undefined && { annotations }),
});
const facts = (definition: JsonObject, settings?: ToolSettings) => toolFacts(definition, settings);

describe('the hints of a tool', () => {
  it('are those of its upstream, and the operator’s take precedence [HINT-001, HINT-006]', () => {
    const definition = hinting({
      'mcp.dev/effect': 'delete',
      'mcp.dev/idempotent': false,
      'mcp.dev/requiresConfirmation': true,
      'mcp.dev/resultSensitivity': 'confidential',
    });
    const declared = {
      effect: 'delete',
      idempotent: false,
      requiresConfirmation: true,
      resultSensitivity: 'confidential',
    };
    expect(facts(definition).hints).toEqual(declared);
    expect(facts(definition, { effect: 'write', idempotent: true }).hints).toEqual({
      ...declared,
      effect: 'write',
      idempotent: true,
    });
    expect(facts({}, { requiresConfirmation: false }).hints).toEqual({ requiresConfirmation: false });
  });

  it.each([
    ['destroy', 'yes', 1, 'secret'],
    ['Read', null, 'true', ['public']],
    [{}, [], {}, 3],
  ] as const)('are empty where their values are unknown [HINT-002]: %j %j %j %j', (effect, a, b, result) => {
    const meta = {
      'mcp.dev/effect': effect,
      'mcp.dev/idempotent': a,
      'mcp.dev/requiresConfirmation': b,
      'mcp.dev/resultSensitivity': result,
    };
    expect(facts(hinting(meta)).hints).toEqual({});
    for (const definition of [{ _meta: 'x' }, { _meta: [] }, { _meta: null }])
      expect(facts(definition).hints).toEqual({});
  });

  it('complete the annotations, and correct them only when they are the operator’s [HINT-013]', () => {
    const upstream = { readOnlyHint: false, title: 'kept' };
    expect(facts(hinting({ 'mcp.dev/effect': 'read' })).annotations).toEqual({
      readOnlyHint: true,
      destructiveHint: false,
    });
    expect(facts(hinting({ 'mcp.dev/effect': 'read' }, upstream)).annotations).toMatchObject(upstream);
    expect(facts(hinting({}, upstream), { effect: 'read' }).annotations).toMatchObject({
      readOnlyHint: true,
      title: 'kept',
    });
    expect(facts(hinting({}, { destructiveHint: false }), { effect: 'delete' }).annotations).toEqual({
      readOnlyHint: false,
      destructiveHint: true,
    });
    expect(facts(hinting({}), { effect: 'external' }).annotations).toMatchObject({ openWorldHint: true });
    expect(facts({}).annotations).toEqual({});
  });

  it('contradict annotations that say something else [HINT-013]', () => {
    const found = (effect: (typeof EFFECTS)[number], annotations: JsonObject) =>
      contradictionsIn(effect, annotations).length;
    expect(found('read', { readOnlyHint: false })).toBe(1);
    expect(found('read', { readOnlyHint: true, destructiveHint: true })).toBe(1);
    expect(found('read', { readOnlyHint: true, destructiveHint: false })).toBe(0);
    expect(found('write', { readOnlyHint: true })).toBe(1);
    expect(found('delete', { readOnlyHint: true, destructiveHint: false })).toBe(2);
    expect(found('external', { openWorldHint: false })).toBe(1);
    expect(contradictionsIn(undefined, { readOnlyHint: true })).toEqual([]);
    expect(contradictionsIn('delete', { destructiveHint: false })).toEqual([
      'its effect is "delete", but destructiveHint is false',
    ]);
    for (const effect of EFFECTS) expect(found(effect, facts({}, { effect }).annotations)).toBe(0);
  });

  it('set the level of the log: an upstream can raise it, and only the operator can lower it [HINT-008, HINT-009]', () => {
    const declared = (effect?: string) =>
      facts(hinting(effect === undefined ? {} : { 'mcp.dev/effect': effect })).auditLevel;
    expect([undefined, ...EFFECTS].map(declared)).toEqual(['info', 'info', 'info', 'warn', 'info']);
    const own = EFFECTS.map((effect) => facts(hinting({ 'mcp.dev/effect': 'delete' }), { effect }).auditLevel);
    expect(own).toEqual(['debug', 'info', 'warn', 'info']);
  });
});

describe('sensitivities', () => {
  it('rise from public to restricted', () => {
    const pairs = SENSITIVITIES.map((one) => SENSITIVITIES.map((ceiling) => (isAbove(one, ceiling) ? 1 : 0)));
    expect(pairs).toEqual([
      [0, 0, 0, 0],
      [1, 0, 0, 0],
      [1, 1, 0, 0],
      [1, 1, 1, 0],
    ]);
  });
});
