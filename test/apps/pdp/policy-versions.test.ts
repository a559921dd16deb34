import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { POLICY_VERSION_MEMBER } from '../../../workflows/domain/authzen/evaluation.ts';
import type { CedarEngine } from '../../../apps/pdp/engine/cedar/cedar-engine.ts';
import { readPolicyTexts } from '../../../apps/pdp/engine/cedar/policy-folder.ts';
import { aGroup, aUser, directoryText } from '../../support/directory.ts';
import { aCall, decidingBy, permitting, FollowedFolder } from '../../support/policy-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const NO_DIRECTORY = { subjectAttribute: 'userName' } as const;
const OFTEN = 10;

let folder: FollowedFolder;
beforeEach(() => {
  folder = new FollowedFolder();
});
afterEach(() => folder.close());

const open = async (directory: { file?: string } = {}, checkEveryMs = OFTEN) => {
  const places = { folder: folder.path, directory: { ...NO_DIRECTORY, ...directory } };
  return folder.open(places, checkEveryMs);
};
const versionNow = () => folder.engine?.status().policy_version;
const decide = (tool: string, opened: CedarEngine) => decidingBy(opened)((now) => now(aCall(tool), 'pep'));
const alarms = () => folder.lines.filter(({ alarm }) => alarm === 'policies_rejected');

describe('changes to policies', () => {
  it.each([
    ['is written in place', () => folder.write('a.cedar', permitting('b'))],
    ['is replaced, as by an editor', () => folder.replace('a.cedar', permitting('b'))],
    ['is in another folder that the link now names', () => folder.pointTo(folder.make({ 'a.cedar': permitting('b') }))],
    ['is added', () => folder.write('b.cedar', permitting('b'))],
  ])('are loaded when a file %s', async (_how, change) => {
    const opened = await open();
    const before = await decide('b', opened);
    expect(before).toEqual({
      decision: false,
      context: { reason: 'not_permitted', [POLICY_VERSION_MEMBER]: versionNow() },
    });
    change();
    const after = await waitFor(async () => {
      const answer = await decide('b', opened);
      return answer.decision ? answer : undefined;
    });
    expect(after.context?.[POLICY_VERSION_MEMBER]).not.toBe(before.context?.[POLICY_VERSION_MEMBER]);
    expect(after.context?.[POLICY_VERSION_MEMBER]).toMatch(/^sha-256:[0-9a-f]{64}$/);
  });

  it('give the version an id that depends only on the text of every file', async () => {
    const directory = NO_DIRECTORY;
    const idOf = async (files: Record<string, string>, file?: string) =>
      (await readPolicyTexts({ folder: folder.make(files), directory: { ...directory, file } })).id;
    const [alice, bob] = ['alice', 'bob'].map((id) => directoryText(aUser(id)));
    const ids = await Promise.all([
      idOf({}),
      idOf({ 'a.cedar': permitting('b') }),
      idOf({ 'entities.json': '[ ]' }),
      idOf({ 'schema.cedarschema': '// empty' }),
      idOf({ 'x.request.json': '{}' }),
      idOf({}, folder.beside('alice.json', alice ?? '')),
      idOf({}, folder.beside('bob.json', bob ?? '')),
    ]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await idOf({})).toBe(ids[0]);
  });

  it('keep the old version after a broken edit, with one alarm that names the place', async () => {
    const opened = await open();
    const good = versionNow();
    folder.write(
      'a.cedar',
      `${permitting('b')}\n@id("x") permit (principal, action, resource) when { principal.rank };`,
    );
    await waitFor(() => opened.status().policies_rejected_since);
    expect(versionNow()).toBe(good);
    expect((await decide('a', opened)).decision).toBe(true);
    expect(alarms()).toMatchObject([
      {
        level: 50,
        problems: [expect.stringMatching(/^a\.cedar:4:54: .*rank.*/)],
        msg: expect.stringContaining('correct'),
      },
    ]);
    await opened.reload();
    expect(alarms()).toHaveLength(2);

    folder.write('a.cedar', permitting('b'));
    await waitFor(() => versionNow() !== good);
    expect(opened.status()).not.toHaveProperty('policies_rejected_since');
    expect((await decide('b', opened)).decision).toBe(true);
    expect(alarms()).toHaveLength(2);
  });

  it('keep the old version while the folder is missing, and end the report when it is back', async () => {
    const opened = await open();
    const good = folder.make({});
    folder.pointTo('/does/not/exist');
    await waitFor(() => opened.status().policies_rejected_since);
    expect((await decide('a', opened)).decision).toBe(true);
    folder.pointTo(good);
    await waitFor(() => opened.status().policies_rejected_since === undefined);
    expect(alarms()).toHaveLength(1);
  });

  it('take effect only together with the schema that they need', async () => {
    const opened = await open();
    const good = versionNow();
    const text = '@id("fly") permit (principal, action == Action::"fly", resource);';
    folder.write('b.cedar', text);
    await waitFor(() => opened.status().policies_rejected_since);
    expect(versionNow()).toBe(good);
    folder.write(
      'schema.cedarschema',
      'entity Subject; entity Resource; action fly, "tools/call" appliesTo { principal: Subject, resource: Resource };',
    );
    folder.write('a.cedar', '@id("a") permit (principal, action == Action::"tools/call", resource);');
    await waitFor(() => versionNow() !== good && opened.status().policies_rejected_since === undefined);
  });

  it('include the directory, the only source of groups', async () => {
    const inGroup = '@id("a") permit (principal in Group::"g", action == Action::"tools/call", resource);';
    folder.write('a.cedar', inGroup);
    const file = folder.beside('people.json', directoryText(aUser('agent')));
    const opened = await open({ file });
    expect((await decide('a', opened)).decision).toBe(false);
    folder.beside('people.json', directoryText(aUser('agent'), aGroup('g', ['agent'])));
    await waitFor(async () => (await decide('a', opened)).decision);
    folder.beside('people.json', 'nonsense');
    await waitFor(() => opened.status().policies_rejected_since);
    expect((await decide('a', opened)).decision).toBe(true);
    expect(alarms()).toMatchObject([{ problems: [expect.stringContaining('people.json: directory: it is not JSON')] }]);
  });

  it('are read on demand between two checks', async () => {
    const opened = await open({}, 3_600_000);
    folder.write('a.cedar', permitting('b'));
    await opened.reload();
    expect((await decide('b', opened)).decision).toBe(true);
  });

  it('keep the request schemas that earlier denials name', async () => {
    const schema =
      '{"type":"object","properties":{"context":{"type":"object","properties":{"why":{"type":"string"}}}}}';
    const approved = ' && context has approval && context.approval.template == "t" }';
    const requestable = permitting('a').replace('\n', '\n@requestable("t")\n').replace(' }', approved);
    folder.pointTo(folder.make({ 'a.cedar': requestable, 't.request.json': schema }));
    const opened = await open();
    const path = await opened.use((policies) => Promise.resolve(policies.requestSchemaPath('t')));
    const name = path?.split('/').at(-1) ?? '';
    folder.pointTo(folder.make({}));
    await opened.reload();
    expect(opened.findRequestSchema(name)).toBe(schema);
    expect(opened.findRequestSchema('other.json')).toBeUndefined();
  });
});

describe('a decision', () => {
  it('uses one version to its end, even if others take effect', async () => {
    const opened = await open();
    const { pause, go } = aGate();
    const held = opened.use(async (policies) => {
      await pause;
      return [(await policies.answer(aCall('a'))).kind, (await policies.answer(aCall('b'))).kind];
    });
    for (const tool of ['b', 'c', 'd', 'b']) {
      folder.pointTo(folder.make({ 'a.cedar': permitting(tool) }));
      await opened.reload();
    }
    go();
    expect(await held).toEqual(['permit', 'deny']);
    expect((await decide('b', opened)).decision).toBe(true);
  });

  it('comes from exactly the version it names, 10,000 times while the folder flips between two', async () => {
    const folders = ['a', 'b'].map((tool) => folder.make({ 'a.cedar': permitting(tool) }));
    const [a, b] = await Promise.all(
      folders.map(async (path) => (await readPolicyTexts({ folder: path, directory: NO_DIRECTORY })).id),
    );
    folder.pointTo(folders[0] ?? '');
    const opened = await open();
    const seen = new Map<unknown, number>();
    const wrong: unknown[] = [];
    let left = 10_000;
    let flips = 0;
    const goesOn = () => left > 0 || flips <= 20;
    const work = decidingBy(opened);
    const caller = async () => {
      while (goesOn()) {
        left -= 2;
        // Two evaluations in one HTTP request, as in a batch.
        const answers = await work(async (now) => {
          const first = await now(aCall('a'), 'pep');
          await new Promise(setImmediate);
          return [first, await now(aCall('b'), 'pep')];
        });
        const [version, other] = answers.map(({ context }) => context?.[POLICY_VERSION_MEMBER]);
        const decisions = answers.map(({ decision }) => decision);
        const right = version === other && [a, b].includes(version as string);
        if (!right || decisions[0] !== (version === a) || decisions[1] !== (version === b)) wrong.push(answers);
        seen.set(version, (seen.get(version) ?? 0) + 2);
        await new Promise(setImmediate);
      }
    };
    const flip = async () => {
      while (goesOn()) {
        folder.pointTo(folders[++flips % 2] ?? '');
        await opened.reload();
        const next = left - 100;
        while (left > Math.max(0, next)) await new Promise(setImmediate);
      }
    };
    await Promise.all([caller(), caller(), caller(), caller(), flip()]);
    expect(wrong).toEqual([]);
    expect([...seen.values()].reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(10_000);
    expect(seen.size).toBe(2);
    expect(flips).toBeGreaterThan(20);
    expect(alarms()).toEqual([]);
  });
});

function aGate() {
  let go = () => undefined as void;
  const pause = new Promise<void>((resolve) => (go = resolve));
  return { pause, go: () => go() };
}
