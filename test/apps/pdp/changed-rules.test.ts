import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import type { CedarEngine } from '../../../apps/pdp/engine/cedar/cedar-engine.ts';
import type { PolicyPlaces } from '../../../apps/pdp/engine/cedar/policy-folder.ts';
import type { BoundDenial } from '../../../apps/pdp/offer/binding-token.ts';
import { aCall, decidingBy, permitting, FollowedFolder } from '../../support/policy-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: FollowedFolder;
beforeEach(() => {
  folder = new FollowedFolder();
});
afterEach(() => folder.close());

/** The folder with these rules, each an `allow` of one tool. */
const placesWith = (...tools: readonly string[]): PolicyPlaces => {
  const rules = tools.map((tool) => ({ allow: tool, name: `allow ${tool}` }));
  const { pdp } = parseConfig({ rules, pdp: { policies: folder.path } }, { baseDir: '/', stateDir: '/' });
  return { folder: pdp.policies, rules: pdp.rules, directory: { subjectAttribute: 'userName' }, catalogs: {} };
};
const open = async (places: PolicyPlaces, checkEveryMs = 10) => folder.open(places, checkEveryMs);
const permits = async (opened: CedarEngine, tool: string) =>
  (await decidingBy(opened)((decide) => decide(aCall(tool), 'pep'))).decision;
const permitted = async (opened: CedarEngine, tools: string) => {
  const answers = await Promise.all([...tools].map((tool) => permits(opened, tool)));
  return [...tools].filter((_tool, index) => answers[index]).join('');
};

describe('changed rules', () => {
  it('decide from the commit on, together with the policies of the folder', async () => {
    const opened = await open(placesWith('b'), 3_600_000);
    expect(await permitted(opened, 'abc')).toBe('ab');
    const prepared = await opened.prepare(placesWith('c'));
    expect(await permitted(opened, 'abc')).toBe('ab');
    prepared.commit();
    expect(await permitted(opened, 'abc')).toBe('ac');
  });

  it('come with the templates that their configuration lists, also where only these changed', async () => {
    const opened = await open(placesWith('b'), 3_600_000);
    const isListed = () => opened.use((version) => Promise.resolve(version.isListed?.('payment')));
    expect(await isListed()).toBe(false);
    const prepared = await opened.prepare({ ...placesWith('b'), templates: ['payment'] });
    const before = opened.use(async (version) => {
      prepared.commit();
      return version.isListed?.('payment');
    });
    expect([await before, await isListed(), await permitted(opened, 'ab')]).toEqual([false, true, 'ab']);
  });

  it('sign and record which templates of a denial their configuration lists', async () => {
    const rules = [
      { approve: 'b', name: 'payments', by: { people: 'alice' } },
      { approve: 'b', name: 'usual' },
    ];
    const { pdp, approvals } = parseConfig({ rules, pdp: { policies: folder.path } }, { baseDir: '/', stateDir: '/' });
    const templates = Object.keys(approvals.templates);
    const opened = await open({ ...placesWith(), rules: pdp.rules, templates });
    const denials: BoundDenial[] = [];
    const evaluations = { record: async (denial: BoundDenial) => void denials.push(denial) };
    await decidingBy(opened, { evaluations })((decide) => decide(aCall('b'), 'pep'));
    expect(denials).toMatchObject([{ offer: { template: 'approver + payments' }, listedTemplates: ['payments'] }]);
  });

  it('leave nothing behind when they are given up', async () => {
    const opened = await open(placesWith('b'));
    const prepared = await opened.prepare(placesWith('c'));
    prepared.discard?.();
    folder.write('a.cedar', permitting('d'));
    await waitFor(() => permits(opened, 'd'));
    expect(await permitted(opened, 'abcd')).toBe('bd');
  });

  it('do not go back to the files of before, which changed between preparation and commit', async () => {
    const opened = await open(placesWith('b'));
    const prepared = await opened.prepare(placesWith('c'));
    folder.write('a.cedar', permitting('d'));
    await waitFor(() => permits(opened, 'd'));
    prepared.commit();
    await waitFor(async () => (await permitted(opened, 'abcd')) === 'cd');
  });

  it('do not let a version in force that was read with the rules of before', async () => {
    const opened = await open(placesWith('b'), 3_600_000);
    for (let turns = 0; turns < 30; turns += 1) {
      const [before, next] = turns % 2 === 0 ? (['b', 'c'] as const) : (['c', 'b'] as const);
      const prepared = await opened.prepare(placesWith(next));
      folder.write('a.cedar', permitting(`d${turns}`));
      // The read of the files is under way when the rules change, a step further each time.
      const reading = opened.reload();
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      prepared.commit();
      await reading;
      expect([await permits(opened, before), await permits(opened, next)]).toEqual([false, true]);
    }
  });

  it('are refused with the problems of the folder, and nothing changes', async () => {
    const opened = await open(placesWith('b'), 3_600_000);
    folder.write('a.cedar', '@id("x") permit (principal, action, resource) when { principal.rank };');
    await expect(opened.prepare(placesWith('c'))).rejects.toThrow(/a\.cedar:1:\d+: .*rank/);
    expect(await permitted(opened, 'abc')).toBe('ab');
  });

  it('end the alarm about files that fit again with them', async () => {
    const opened = await open(placesWith('b'), 3_600_000);
    folder.write('b.cedar', '@id("x") permit (principal, action, resource) when { principal.rank };');
    await opened.reload();
    expect(opened.status()).toHaveProperty('policies_rejected_since');
    folder.write('b.cedar', permitting('e'));
    (await opened.prepare(placesWith('c'))).commit();
    expect(opened.status()).not.toHaveProperty('policies_rejected_since');
    expect(await permitted(opened, 'abce')).toBe('ace');
    expect(folder.lines.filter(({ alarm }) => alarm !== undefined)).toHaveLength(1);
  });

  it('may replace the folder of policies', async () => {
    const opened = await open(placesWith('b'), 3_600_000);
    const other = folder.make({ 'a.cedar': permitting('z') });
    const places = { folder: other, directory: { subjectAttribute: 'userName' } as const, catalogs: {} };
    (await opened.prepare(places)).commit();
    expect(await permitted(opened, 'abz')).toBe('z');
  });
});
