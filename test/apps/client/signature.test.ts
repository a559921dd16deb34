import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSignature, SignatureError } from '../../../apps/client/index.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { send } from '../../support/gateway-wire.ts';

const READ = { readOnlyHint: true, destructiveHint: false };
const WRITE = { readOnlyHint: false, destructiveHint: true };
const signature = readSignature({
  tools: [{ name: 'look', annotations: READ }, { name: 'ledger', annotations: [READ, WRITE] }, { name: 'plain' }],
  prompts: [{ name: 'ask' }],
  resources: [{ uri: 'x:1', name: 'ask', annotations: { priority: 1 } }],
  resourceTemplates: [{ uriTemplate: 'x:{id}', name: 'any' }],
});
const outside = (...listed: { name: string; annotations?: unknown }[]) =>
  signature.outside('tools', listed).map(({ name }) => name);

describe('a list of tools', () => {
  it('is within the signature when it is a part of it, or empty [SIG-006, SIG-016]', () => {
    expect(outside()).toEqual([]);
    expect(
      outside({ name: 'plain' }, { name: 'look', annotations: { destructiveHint: false, readOnlyHint: true } }),
    ).toEqual([]);
    expect(outside({ name: 'plain', annotations: {} })).toEqual([]);
  });

  it("is within the signature with any of a tool's declared annotations, and no others [SIG-009]", () => {
    for (const annotations of [READ, WRITE]) expect(outside({ name: 'ledger', annotations })).toEqual([]);
    expect(outside({ name: 'ledger', annotations: { ...READ, destructiveHint: true } })).toEqual(['ledger']);
    expect(
      outside({ name: 'look', annotations: WRITE }, { name: 'look' }, { name: 'plain', annotations: READ }),
    ).toEqual(['look', 'look', 'plain']);
  });

  it('is outside the signature with a tool of another name', () => {
    expect(outside({ name: 'plain' }, { name: 'Plain' }, { name: 'constructor' })).toEqual(['Plain', 'constructor']);
  });
});

describe('a list of other items', () => {
  it('is within the signature by name, address or template, separately for each kind [SIG-006, SIG-016]', () => {
    expect(signature.outside('prompts', [{ name: 'ask' }, { name: 'look' }])).toEqual([{ name: 'look' }]);
    expect(signature.outside('resources', [{ uri: 'x:2' }])).toEqual([{ uri: 'x:2' }]);
    const templates = [{ uriTemplate: 'x:{id}' }, { uriTemplate: 'x:1' }];
    expect(signature.outside('resourceTemplates', templates)).toEqual([{ uriTemplate: 'x:1' }]);
  });

  it('is within the signature when contents changed, but not with other annotations [SIG-010]', () => {
    const at = (annotations: object) => signature.outside('resources', [{ uri: 'x:1', annotations }]).length;
    expect(at({ priority: 1, lastModified: '2026-11-22T10:00:00Z' })).toBe(0);
    expect([at({ priority: 0 }), at({ priority: 1, audience: ['assistant'] })]).toEqual([1, 1]);
  });
});

it('a signature that is invalid or too long is refused', () => {
  const many = Array.from({ length: 10_001 }, (_, index) => ({ name: `t${index}` }));
  for (const tools of ['all', null, [5], [{ title: 'x' }], [null], many]) {
    for (const list of ['tools', 'prompts', 'resourceTemplates']) {
      expect(() => readSignature({ [list]: tools })).toThrow(SignatureError);
    }
  }
  expect(() => readSignature({ resources: many.map((_, index) => ({ uri: `x:${index}` })) })).not.toThrow();
  expect(() => readSignature({ resources: [{ name: 'x' }] })).toThrow(SignatureError);
  expect(readSignature({}).outside('tools', [{ name: 'x' }])).toHaveLength(1);
});

describe('lists and the signature of the gateway', () => {
  const gateway = new GatewayUnderTest();
  beforeAll(() => gateway.start());
  afterAll(() => gateway.stop());

  it('match each other', async () => {
    const { result } = (await send(gateway, 'signature')).body;
    const list = (await send(gateway, 'tools/list')).body.result?.['tools'] as { name: string }[];
    expect(list.length).toBeGreaterThan(0);
    expect(readSignature(result ?? {}).outside('tools', list)).toEqual([]);
  });
});
