import { describe, expect, it } from '@jest/globals';
import { ZodError } from 'zod';
import { configuredTerms } from '../../../../../apps/approvals/templates.ts';
import { stageFor, templateProblems } from '../../../../../apps/shared/approvers/stages.ts';
import { parseConfig } from '../../../../../apps/shared/config/config.ts';
import { formatPath, problemsOf } from '../../../../../apps/shared/config/problems.ts';
import { EMPTY_DIRECTORY, readDirectory } from '../../../../../apps/shared/directory/directory.ts';
import { aGroup, aUser, directoryText } from '../../../../support/directory.ts';

const directory = readDirectory(
  directoryText(
    aUser('alice'),
    aUser('bob'),
    aUser('gone', { active: false }),
    aGroup('ops', ['alice', 'bob', 'gone']),
  ),
  'userName',
);

const config = (approvals: object) => parseConfig({ approvals }, { baseDir: '/', stateDir: '/' });
const withStages = (...stages: object[]) => config({ templates: { payment: { stages } } });

const byRule = (by: object) =>
  parseConfig({ rules: [{ approve: 'files__*', by: { people: ['alice'], ...by } }] }, { baseDir: '/', stateDir: '/' });

/** The problems of these stages alone, with their places. */
function faults(...stages: object[]): string[] {
  try {
    withStages(...stages);
  } catch (error) {
    if (error instanceof ZodError)
      return problemsOf(error).map(({ path, message }) => `${formatPath(path)}: ${message}`);
  }
  throw new Error('the configuration was accepted');
}
const ops = { name: 'ops', approvers: { groups: ['ops'] } };

describe('a template', () => {
  it('asks one approver by default, and follows its configuration otherwise', () => {
    const termsOf = configuredTerms(
      config({
        requestTtlSeconds: 100,
        templates: { payment: { stages: [{ ...ops, quorum: 2 }], approvalTtlSeconds: 60, separateStages: false } },
      }),
      directory,
    );
    expect(termsOf({}, 'x')).toMatchObject({
      stages: [{ approvers: { roles: ['approver'] }, quorum: 1, veto: true }],
      separateStages: true,
      requestTtlMs: 100_000,
      approvalTtlMs: 3_600_000,
    });
    for (const unlisted of ['other', '__proto__', 'constructor'])
      expect(termsOf({ template: unlisted }, 'x')).toEqual(termsOf({}, 'x'));
    expect(termsOf({ template: 'payment' }, 'x')).toMatchObject({
      stages: [{ name: 'ops', approvers: { groups: ['ops'], roles: [] }, quorum: 2, then: 'deny' }],
      separateStages: false,
      requestTtlMs: 100_000,
      approvalTtlMs: 60_000,
    });
  });

  it('has no terms for a denial whose decision point listed a template that is not listed here', () => {
    const templates = { payment: { stages: [{ ...ops, quorum: 2 }] } };
    const termsOf = configuredTerms(config({ templates }), directory);
    const listed = (...listedTemplates: string[]) => termsOf({ template: 'payment + gone', listedTemplates }, 'x');
    expect(listed('payment')?.stages).toHaveLength(2);
    expect([listed('gone'), listed('payment', 'gone'), listed('constructor')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('is met together with others where several rules ask for an approval', () => {
    const templates = {
      ops: { stages: [{ ...ops, quorum: 2 }], approvalTtlSeconds: 60 },
      same: { stages: [{ ...ops, quorum: 2 }] },
      board: {
        stages: [
          { name: 'one', approvers: { groups: ['ops'] } },
          { name: 'two', approvers: { groups: ['ops'] } },
        ],
      },
    };
    const termsOf = configuredTerms(config({ requestTtlSeconds: 100, templates }), directory);
    expect(termsOf({ template: 'board + ops' }, 'x')).toMatchObject({
      stages: [{ name: 'board: one' }, { name: 'board: two' }, { name: 'ops: ops', quorum: 2 }],
      separateStages: true,
      approvalTtlMs: 60_000,
    });
    expect(termsOf({ template: 'ops + same' }, 'x')?.stages).toHaveLength(1);
    expect(termsOf({ template: 'approver + ops' }, 'x')).toMatchObject({
      stages: [{ name: 'approver: approval', approvers: { roles: ['approver'] } }, { name: 'ops: ops' }],
      separateStages: false,
    });
  });

  it('goes to the owners of the requested resource, as every matching entry names them', () => {
    const termsOf = configuredTerms(
      config({
        templates: { owned: { stages: [{ name: 'owner', approvers: { resourceOwner: true } }] } },
        owners: [
          { resource: 'files__*', people: ['alice'] },
          { resource: 'files__write_file', people: ['bob'], groups: ['ops'] },
          { resource: 'files', people: ['gone'] },
        ],
      }),
      EMPTY_DIRECTORY_WITH_OPS,
    );
    const ownersOf = (resource: string) => termsOf({ template: 'owned' }, resource)?.stages[0]?.approvers.owners;
    expect(ownersOf('files__write_file')).toEqual({ people: ['alice', 'bob'], groups: ['ops'] });
    expect(ownersOf('files__read_file')).toEqual({ people: ['alice'], groups: [] });
    expect(ownersOf('mail__send')).toEqual({ people: [], groups: [] });
  });

  it.each([
    ['no person to decide', [{ name: 'a', approvers: {} }], /stages\[0\]\.approvers: no person could decide/],
    ['two stages of one name', [ops, ops], /stages\[1\]\.name: is used twice/],
    [
      'a denial that counts against an unknown number',
      [{ name: 'a', approvers: { roles: ['r'] }, veto: false }],
      /veto/,
    ],
    [
      'an escalation without a time',
      [
        { ...ops, then: 'escalate' },
        { ...ops, name: 'b' },
      ],
      /withinSeconds/,
    ],
    ['an escalation to no stage', [{ ...ops, then: 'escalate', withinSeconds: 5 }], /no stage after it/],
    ['a stage that no other escalates to', [ops, { ...ops, name: 'b', onlyOnEscalation: true }], /does not escalate/],
    ['an automatic approval', [{ ...ops, then: 'allow' }], /then/],
    ['a quorum of zero', [{ ...ops, quorum: 0 }], /quorum/],
  ])('is refused with %s', (_name, stages, message) => {
    expect(faults(...stages).join('\n')).toMatch(message);
  });

  describe('with decisions in a chat', () => {
    const chat = { chatDecisions: true };
    const parsed = (stage: object, more: object = chat) =>
      config({ templates: { payment: { stages: [{ ...ops, ...stage }], ...more } } });
    const own = { approvers: { groups: ['ops'], requester: true } };

    it.each<[string, () => unknown]>([
      ['a passkey for the template', () => parsed({}, { ...chat, passkey: true })],
      ['a passkey for a stage', () => parsed({ passkey: true })],
      ['a requester who confirms', () => parsed(own)],
      ['a passkey in a rule', () => byRule({ passkey: true, ...chat })],
      ['a requester who confirms in a rule', () => byRule({ requester: true, ...chat })],
    ])('is refused together with %s', (_what, read) => {
      expect(read).toThrow('a button in a chat is no passkey and no recent sign-in');
    });

    it('allows them in each stage for people, and in no other stage even if the configuration would', () => {
      const { owners, templates } = parsed({}).approvals;
      const stage = templates['payment']!.stages[0]!;
      const requester = { issuer: 'https://idp.test', subjects: ['alice'] };
      const allows = (changes: object, chatDecisions = true) =>
        stageFor({ ...stage, ...changes, chatDecisions, grantsEndAtSignOut: false }, owners, {
          resource: 'x',
          requester,
        })?.chatDecisions;
      expect(allows({})).toBe(true);
      const refused = [
        allows({}, false),
        allows({ passkey: true }),
        allows({ approvers: { ...stage.approvers, requester: true } }),
        allows({ withoutPeople: true, automatic: 'risk' }),
      ];
      expect(refused).toEqual([undefined, undefined, undefined, undefined]);
    });
  });

  describe('with an automatic resolver', () => {
    const risk = { url: 'https://risk.test/ask', secret: 'whsec_c2VjcmV0' };
    const parsed = (stages: object[], more: object = {}) =>
      config({ resolvers: { risk }, templates: { payment: { stages, ...more } } });
    const asks = { name: 'a', automatic: 'risk', approvers: { people: ['alice'] } };

    it('captures only its name, which counts as one more approver', () => {
      const settings = parsed([{ ...asks, quorum: 2 }]);
      const stage = configuredTerms(settings, EMPTY_DIRECTORY)({ template: 'payment' }, 'x')?.stages[0];
      expect(stage).toMatchObject({ automatic: 'risk', quorum: 2 });
      expect(JSON.stringify(stage)).not.toMatch(/risk\.test|whsec|withoutPeople/);
      expect(() => configuredTerms(parsed([{ ...asks, quorum: 3 }]), EMPTY_DIRECTORY)).toThrow('only 2 people');
      expect(settings.approvals.resolvers['risk']?.timeoutSeconds).toBe(10);
    });

    it('has no person beside it only where the template says so', () => {
      const alone = { name: 'a', automatic: 'risk', withoutPeople: true };
      expect(configuredTerms(parsed([alone]), EMPTY_DIRECTORY)({ template: 'payment' }, 'x')?.stages[0]?.quorum).toBe(
        1,
      );
    });

    it.each<[string, object[], RegExp]>([
      [
        'an unknown name',
        [{ ...asks, automatic: 'risky' }],
        /no resolver .*risky.*: add it .* or name one of these: risk/,
      ],
      ['a member of all objects', [{ ...asks, automatic: 'constructor' }], /no resolver .*constructor/],
      ['no approver and no withoutPeople', [{ name: 'a', automatic: 'risk' }], /no person could decide/],
      ['both people and withoutPeople', [{ ...asks, withoutPeople: true }], /leave approvers out/],
      ['no approver at all', [{ name: 'a', withoutPeople: true }], /name it in automatic/],
      [
        'a quorum of two of the same resolver',
        [{ name: 'a', automatic: 'risk', withoutPeople: true, quorum: 2 }],
        /quorum 1/,
      ],
      ['one voice twice', [asks, { ...asks, name: 'b' }], /set separateStages: false/],
    ])('is refused with %s', (_name, stages, message) => {
      expect(() => parsed(stages)).toThrow(message);
    });

    it('takes one voice twice where each stage counts for itself', () => {
      expect(parsed([asks, { ...asks, name: 'b' }], { separateStages: false })).toBeDefined();
    });

    it('is refused at plain http to another machine, and without a secret', () => {
      for (const wrong of [
        { ...risk, url: 'http://risk.test/ask' },
        { url: risk.url },
        { ...risk, timeoutSeconds: 61 },
      ]) {
        expect(() => config({ resolvers: { risk: wrong } })).toThrow();
      }
    });
  });

  it('takes one reminder or several', () => {
    const { approvals } = withStages(
      { ...ops, remindAfterSeconds: 60 },
      { ...ops, name: 'b', remindAfterSeconds: [1, 2] },
    );
    expect(approvals.templates['payment']?.stages.map(({ remindAfterSeconds }) => remindAfterSeconds)).toEqual([
      [60],
      [1, 2],
    ]);
  });
});

const EMPTY_DIRECTORY_WITH_OPS = { ...EMPTY_DIRECTORY, groups: new Set(['ops']) };

describe('a template compared with the directory', () => {
  const problems = (approvals: object, held = directory) =>
    templateProblems(config(approvals).approvals, held).map(({ path, message }) => `${formatPath(path)}: ${message}`);
  const ofStages = (...stages: object[]) => ({ templates: { payment: { stages } } });
  const at = 'approvals.templates.payment.stages';

  it('is valid when there are enough people', () => {
    expect(problems(ofStages({ ...ops, quorum: 2 }))).toEqual([]);
    expect(problems(ofStages({ name: 'a', approvers: { roles: ['approver'] }, quorum: 9 }))).toEqual([]);
  });

  it('reports people and groups that the directory does not have, and people who have left', () => {
    const found = problems({
      ...ofStages({ name: 'a', approvers: { people: ['zoe', 'gone'], groups: ['oops'], roles: ['approver'] } }),
      owners: [{ resource: '*', people: ['zoe'] }],
    });
    const hint = 'is not in the directory; check its spelling, and directory.file';
    expect(found).toEqual([
      `${at}[0].approvers.people: "zoe" ${hint}`,
      `${at}[0].approvers.people: "gone" ${hint}`,
      `${at}[0].approvers.groups: "oops" ${hint}`,
      `approvals.owners[0].people: "zoe" ${hint}`,
    ]);
  });

  it('reports a stage that too few people can decide', () => {
    expect(problems(ofStages({ ...ops, quorum: 3 }))).toEqual([
      `${at}[0].quorum: 3 have to approve, but there are only 2 people who can`,
    ]);
    expect(problems(ofStages({ name: 'a', approvers: { people: ['x'] }, quorum: 2 }), EMPTY_DIRECTORY)).toEqual([
      `${at}[0].quorum: 2 have to approve, but there is only 1 person who can`,
    ]);
    expect(problems(ofStages({ name: 'a', approvers: { requesterManager: true } }), EMPTY_DIRECTORY)).toHaveLength(1);
  });

  it('reports stages that need more people together than there are, where a person counts once', () => {
    const stages = [ops, { ...ops, name: 'b', quorum: 2 }];
    expect(problems(ofStages(...stages))).toEqual([expect.stringContaining('need 3 different people, but only 2')]);
    expect(problems({ templates: { payment: { stages, separateStages: false } } })).toEqual([]);
  });

  it('keeps the service from starting', () => {
    expect(() => configuredTerms(withStages({ ...ops, quorum: 3 }), directory)).toThrow(
      expect.objectContaining({ code: 'ERR_CONFIG_INVALID' }),
    );
  });
});
