import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadCurrent } from '../../../apps/pdp/engine/cedar/version.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { aDecidedCall, type DecidedCall, placesOf, suggestFor } from '../../support/decided-calls.ts';

const times = (count: number, of: (index: number) => Parameters<typeof aDecidedCall>[0] = () => ({})) =>
  Array.from({ length: count }, (_, index) =>
    aDecidedCall({ people: [index % 2 === 0 ? 'alice' : 'bob'], ...of(index) }),
  );
const inFolder = (index: number) => ({ args: { path: `/srv/app/${index}.txt`, mode: 'w', content: `text ${index}` } });

describe('suggestions', () => {
  it('name what the approved calls had in common, in place of the rule that asked', async () => {
    const other = times(12, () => ({ agent: 'other', args: { path: '/x', force: true } }));
    const { rules, grants, leftOut, counts } = await suggestFor([...times(24, inFolder), ...other]);
    const where = { path: { path: { under: '/srv/app' } }, mode: 'w', force: { present: false } };
    const allow = { tool: 'files__write', effect: 'write', caller: { client: 'coder', subject: 'dana' }, where };
    expect(rules).toEqual([
      {
        ...{
          tool: 'files__write',
          agent: 'coder',
          subjects: ['dana'],
          approvals: 24,
          people: 2,
          passed: 24,
          refused: 0,
        },
        rule: { name: 'suggested 1: files__write', allow, insteadOf: ['asks'] },
        free: ['content'],
      },
    ]);
    expect([grants, leftOut, counts.requests, counts.approved]).toEqual([[], [], 36, 36]);
  });

  const placed = (paths: readonly string[]) =>
    times(21, (index) => ({ args: { path: paths[index % paths.length] ?? '' } }));

  it.each<[string, readonly string[], JsonObject]>([
    [
      'a folder, by every spelling of it',
      ['/srv/app/a', '//srv/app//b', '/srv/./app/c/d'],
      { path: { under: '/srv/app' } },
    ],
    ['a folder on a drive', ['C:\\app\\a', 'c:/app/b', 'C:\\app\\c'], { path: { under: 'C:/app' } }],
    ['a folder that only the server knows', ['docs/a', 'docs/b', './docs/c'], { path: { under: 'docs' } }],
    [
      'a host',
      ['https://a.test/x', 'https://a.test/y/z', 'https://A.test:443/'],
      { url: { scheme: 'https', host: 'a.test', port: 443 } },
    ],
    [
      'a folder of a host',
      ['http://a.test:8080/x/1', 'http://a.test:8080/x/2', 'http://a.test:8080/x/%61'],
      { url: { scheme: 'http', host: 'a.test', port: 8080, path: { under: '/x' } } },
    ],
  ])('name %s as the limit', async (_what, paths, limit) => {
    const { rules } = await suggestFor(placed(paths));
    expect(rules).toMatchObject([{ passed: 21, rule: { allow: { where: { path: limit } } } }]);
  });

  it.each<[string, readonly string[]]>([
    ['paths have only the root in common', ['/a', '/b', '/c', '/d/e', '/f', '/g']],
    [
      'addresses have only the scheme in common',
      ['1', '2', '3', '4', '5', '6'].map((name) => `https://x${name}.test/`),
    ],
    ['hosts only begin alike', ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `https://docs.test.${name}/x`)],
    ['one path leads upwards', ['/srv/a', '/srv/b', '/srv/c', '/srv/d', '/srv/e', '/srv/x/../../etc']],
    ['some are relative', ['/srv/a', '/srv/b', '/srv/c', 'srv/d', 'srv/e', 'srv/f']],
  ])('propose no rule where %s', async (_what, paths) => {
    const { rules, grants } = await suggestFor(placed(paths));
    expect([rules, grants.length]).toEqual([[], 1]);
    const { leftOut } = await suggestFor(placed(paths), {
      rules: [{ approve: 'files__*', name: 'asks', grantable: { minutes: 5, uses: 1 } }],
    });
    const reason = expect.stringContaining('the values of path have no folder or host in common');
    expect(leftOut).toMatchObject([{ reason }]);
  });

  it('need no exception where a policy permits what an approval makes good', async () => {
    const { rules } = await suggestFor(
      times(20, () => ({ tool: 'files__write_file' })),
      { rules: [], more: { pdp: { policies: `${process.cwd()}/policies` } } },
    );
    expect(rules).toMatchObject([{ passed: 20, rule: { allow: { where: { path: '/srv/a' } } } }]);
    expect(rules[0]?.rule).not.toHaveProperty('insteadOf');
  });

  it('leave out calls like one that was refused, and say so', async () => {
    const denied = aDecidedCall({ ...inFolder(99), verdict: 'refused' });
    const { rules, leftOut } = await suggestFor([...times(40, inFolder), denied]);
    expect(rules).toEqual([]);
    expect(leftOut).toMatchObject([
      { approvals: 40, reason: expect.stringContaining('1 request like these was denied, expired or cancelled') },
    ]);
    const elsewhere = aDecidedCall({ args: { path: '/etc/x', mode: 'w', content: '' }, verdict: 'refused' });
    expect((await suggestFor([...times(40, inFolder), elsewhere])).rules).toMatchObject([{ passed: 40 }]);
  });

  it.each([
    ['too few approvals', times(19)],
    ['one person alone', times(40, () => ({ people: ['alice'] }))],
    ['approvals by grants, programs or in an emergency', [...times(19), ...times(40, () => ({ verdict: 'other' }))]],
    ['a tool that deletes', times(40, () => ({ effect: 'delete' }))],
    ['a tool that reaches outside', times(40, () => ({ effect: 'external' }))],
    ['a tool whose effect is not known', times(40, () => ({ effect: undefined }))],
  ])('need more than %s', async (_what, calls) => {
    const { rules, grants } = await suggestFor(calls);
    expect([rules, grants]).toEqual([[], []]);
  });

  it('name several accounts only if no account has enough approvals alone', async () => {
    const three = times(30, (index) => ({ subject: ['dana', 'eve', 'm*'][index % 3] ?? '' }));
    const { rules } = await suggestFor(three);
    expect(rules.map(({ rule }) => rule.allow.caller.subject)).toEqual([['dana', 'eve', 'm\\*']]);
    const more = times(20);
    expect((await suggestFor([...three, ...more])).rules.map(({ subjects }) => subjects)).toEqual([['dana']]);
  });

  const listed = (index: number) => ({ args: { words: ['status'] }, endedAt: index * 60_000 });
  it.each<[string, JsonObject]>([
    ['a list', { words: ['status'] }],
    ['a value that the configuration would replace', { path: '${HOME}/x' }],
    ['a text that is too long', { path: 'x'.repeat(1_001) }],
    ['a name with a dot', { 'a.b': 1 }],
  ])('propose no rule that leaves %s free, and grants in its place', async (_what, args) => {
    const { rules, grants } = await suggestFor(times(22, (index) => ({ ...listed(index), args })));
    expect(rules).toEqual([]);
    // A grant of ten calls takes the place of the ten approvals after the one with which it was given.
    expect(grants).toMatchObject([
      { name: 'asks', index: 0, grantable: { minutes: 30, uses: 10 }, calls: [{ approvals: 22, spared: 20 }] },
    ]);
  });

  it('propose grants only where they help and are safe', async () => {
    const calls = times(22, listed);
    const reason = async (more: readonly DecidedCall[], rule: object = {}) => {
      const rules = [{ approve: 'files__*', name: 'asks', ...rule }];
      const { grants, leftOut } = await suggestFor([...calls, ...more], { rules });
      expect(grants).toEqual([]);
      return leftOut[0]?.reason;
    };
    expect(await reason([aDecidedCall({ args: { words: ['x'] }, verdict: 'refused' })])).toContain('was denied');
    expect(await reason([aDecidedCall({ tool: 'files__drop', effect: 'delete' })])).toContain(
      'delete or reach outside',
    );
    expect(await reason([aDecidedCall({ ...listed(1), suitsGrants: false })])).toContain(
      'a grant cannot take the place',
    );
    expect(await reason([], { grantable: { minutes: 5, uses: 1 } })).toContain('already lets approvers give grants');
  });

  it('stay below a rule that denies, and below other rules that ask', async () => {
    const rules = [
      { approve: 'files__*', name: 'asks' },
      { approve: { tool: '*', where: { path: { like: '/srv/*' } } }, name: 'asks too' },
    ];
    const found = await suggestFor(times(20), { rules });
    expect(found.rules).toMatchObject([{ rule: { insteadOf: ['asks', 'asks too'] }, passed: 20 }]);
    const denying = await suggestFor(times(20), { rules: [...rules, { deny: 'files__write' }] });
    expect([denying.rules, denying.counts.settled]).toEqual([[], 20]);
  });
});

const some = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const aCall = fc.record({
  tool: some('files__a', 'files__b*'),
  agent: some('coder', 'co*'),
  subject: some('dana', 'eve'),
  effect: some('read' as const, 'write' as const, 'delete' as const),
  args: fc.record(
    {
      path: some<JsonObject[string]>('/srv/a', '/srv/b', '/srv/c/d', '/srv/../etc', '/etc/p', 'x*', '', 7),
      mode: some<JsonObject[string]>('r', 'w', true, null, ['w'], { deep: 1 }, { deep: 2 }),
      n: some<JsonObject[string]>(1, 2, 0.00001, '1'),
    },
    { requiredKeys: [] },
  ),
});
type Call = typeof aCall extends fc.Arbitrary<infer T> ? T : never;

/** A call that is approved again and again with small changes, and calls that differ from it in something and were refused. */
const histories = fc.record({
  base: aCall,
  approved: fc.array(fc.record({ other: aCall, changed: fc.subarray(['path', 'n'], { maxLength: 1 }) }), {
    minLength: 5,
    maxLength: 14,
  }),
  refused: fc.array(
    fc.record({
      other: aCall,
      changed: fc.subarray(['tool', 'agent', 'subject', 'effect', 'path', 'mode', 'n'], { minLength: 1 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

function mutated(base: Call, other: Call, changed: readonly string[]): Call {
  const from = (name: keyof Call) => (changed.includes(name) ? other : base)[name];
  const args = Object.entries({ ...base.args, ...other.args }).flatMap(([name]) => {
    const source: JsonObject = changed.includes(name) ? other.args : base.args;
    return Object.hasOwn(source, name) ? [[name, source[name]] as const] : [];
  });
  const named = Object.fromEntries((['tool', 'agent', 'subject', 'effect'] as const).map((name) => [name, from(name)]));
  return { ...(named as Omit<Call, 'args'>), args: Object.fromEntries(args) as Call['args'] };
}

const RULE_SETS = [
  [{ approve: 'files__*', name: 'asks' }],
  [{ approve: { server: 'files', where: { path: { like: '/srv/*' } } }, name: 'asks' }, { allow: { effect: 'read' } }],
];

it('never let a request of the history pass that was refused', async () => {
  let proposed = 0;
  const property = fc.asyncProperty(histories, some(...RULE_SETS), async ({ base, approved, refused }, rules) => {
    const safe: Call = { ...base, effect: base.effect === 'delete' ? 'write' : base.effect };
    const calls = [
      ...approved.map(({ other, changed }, index) =>
        aDecidedCall({ ...mutated(safe, other, changed), people: [index % 2 === 0 ? 'alice' : 'bob'] }),
      ),
      ...refused.map(({ other, changed }) => aDecidedCall({ ...mutated(safe, other, changed), verdict: 'refused' })),
    ];
    const found = await suggestFor(calls, { rules, minApprovals: 3 });
    proposed += found.rules.length;
    const [before, after] = [
      await loadCurrent(placesOf(rules)),
      await loadCurrent(placesOf([...rules, ...found.rules.map(({ rule }) => rule)])),
    ];
    for (const { request, verdict } of calls) {
      const passes = (await after.answer(request)).kind === 'permit';
      const passed = (await before.answer(request)).kind === 'permit';
      if (verdict === 'refused') expect(passes && !passed).toBe(false);
      if (passed) expect(passes).toBe(true);
    }
    for (const { evaluator } of [before, after]) evaluator.release();
  });
  await fc.assert(property, { numRuns: 30 });
  expect(proposed).toBeGreaterThan(0);
});
