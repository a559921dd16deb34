import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { aGroup, aUser, directoryText } from '../../support/directory.ts';
import { DEFAULT_POLICIES } from '../../support/pdp.ts';
import { aCall, permitting } from '../../support/policy-folder.ts';
import { policyDesk, REQUESTABLE } from './policy-desk.ts';
import { Desk } from './run.ts';

let desk: Desk;
const aDesk = (...of: Parameters<typeof policyDesk>) => (desk = policyDesk(...of));

describe('countersign policy check', () => {
  it('counts the policies and names their version, as the decision point does', async () => {
    desk = new Desk({ pdp: { policies: DEFAULT_POLICIES } });
    const { code, out, err } = await desk.run(['policy', 'check']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      /^version {10}[0-9a-f]{12}\npolicies {9}\d+ in \d files, 1 requestable\ntemplates {8}operator_approval\n/,
    );
    const { out: text } = await desk.run(['policy', 'check', DEFAULT_POLICIES, '--json']);
    const { errors, warnings, found } = JSON.parse(text) as { errors: []; warnings: []; found: { version: string } };
    expect([errors, warnings]).toEqual([[], []]);
    expect(out).toContain(found.version.slice('sha-256:'.length, 'sha-256:'.length + 12));
  });

  it('reports every mistake of a kind with file, line and column, and what to do', async () => {
    const broken = aDesk({
      'b.cedar':
        'permit (principal, action, resource);\n\n  @id("a") @requestable permit (principal, action, resource);',
      'c.cedar': '@id("c")\npermit (principal, action, resource',
    });
    const { code, out, err } = await broken.run(['policy', 'check']);
    expect(code).toBe(1);
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^error {4}policies\/b\.cedar:1:1: a policy without @id\("…"\)\. Add one/),
      expect.stringMatching(/^error {4}policies\/b\.cedar:3:3: @requestable of "a" has no value\. Write/),
      expect.stringMatching(/^error {4}policies\/c\.cedar:2:\d+: .*expected/),
    ]);
    expect(err).toBe('countersign: the policies have 3 errors; correct them');
    const asJson = await broken.run(['policy', 'check', '--json']);
    expect(JSON.parse(asJson.out)).toMatchObject({
      errors: [{ file: 'policies/b.cedar', line: 1, column: 1 }, {}, {}],
    });
    expect(asJson.code).toBe(1);
  });

  it.each([
    [
      'a type',
      { 'd.cedar': '\n@id("d") permit (principal, action, resource) when { resource.id == 1 || principal.x };' },
      /policies\/d\.cedar:2:\d+: .*`x`/,
    ],
    [
      'the schema',
      { 'schema.cedarschema': 'entity Subject;\nentity Resource = { a: Text };' },
      /policies\/schema\.cedarschema:2:24: .*Text/,
    ],
    ['an entity', { 'entities.json': '[\n  {"uid" 1}\n]' }, /policies\/entities\.json:2:\d+: it is not JSON\. Write/],
    [
      'a form',
      { 'x.request.json': '{}' },
      /policies\/x\.request\.json: no policy is @requestable\("x"\)\. Rename or remove it/,
    ],
    [
      'a policy without a name',
      { 'a.cedar': permitting('a') + permitting('a') },
      /policies\/a\.cedar:3:1: two policies have @id\("permit-a"\), the other in a\.cedar:1\. Give/,
    ],
  ])('finds a mistake in %s', async (_where, files, message) => {
    const { code, out } = await aDesk(files).run(['policy', 'check']);
    expect(code).toBe(1);
    expect(out).toMatch(message);
  });

  it('finds a mistake in the directory, which is part of the version', async () => {
    const config = { directory: { file: './people.json' } };
    writeFileSync(join(aDesk({}, config).folder, 'people.json'), directoryText(aGroup('g', ['zoe'])));
    const { code, out } = await desk.run(['policy', 'check']);
    expect(code).toBe(1);
    expect(out).toMatch(/^error {4}people\.json: directory: g has a member zoe that is missing from the list/);
    writeFileSync(join(desk.folder, 'people.json'), directoryText(aUser('alice')));
    expect((await desk.run(['policy', 'check'])).out).toMatch(/people {11}1$/);
  });

  it('warns about policies without effect, and passes', async () => {
    const { code, out } = await aDesk({
      'b.cedar': '@id("b")\n@request("x")\npermit (principal, action, resource) when { resource.id == "a" && false };',
    }).run(['policy', 'check']);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^warning {2}policies\/b\.cedar:1:1: @request of "b" has no effect\. Known are @id, @requestable/,
    );
    expect(out).toMatch(/^warning {2}policies\/b\.cedar:1:1: .*impossible/m);
  });

  it('says what to do when the folder is missing', async () => {
    const { code, out } = await aDesk().run(['policy', 'check', 'nowhere']);
    expect(code).toBe(1);
    expect(out).toMatch(/no policy folder .*nowhere\. Create it or set pdp\.policies/);
  });
});

describe('countersign policy explain', () => {
  const explain = (request: unknown, ...args: string[]) =>
    aDesk({ 'b.cedar': REQUESTABLE }).run(['policy', 'explain', '-', ...args], { input: JSON.stringify(request) });

  it('names the policy that asks for an approval, its place, and the approval that would cure the denial', async () => {
    const request = { ...aCall('b', 'agent', { nickname: 'x' }), context: { path: '/a', extra: [{ b: 1 }] } };
    const { code, out, err } = await explain(request);
    expect([code, err]).toEqual([0, '']);
    const lines = out.split('\n');
    expect(lines[0]).toMatch(/^decision +denied, until an approver approves$/);
    expect(out).toMatch(/^reason +approval_required$/m);
    expect(out).toMatch(/^cure +an approval of boss: with one, the same request is permitted$/m);
    expect(out).toMatch(
      /^seen +subject\.type, subject\.id, action\.name, resource\.type, resource\.id, context\.path$/m,
    );
    expect(out).toMatch(
      /^ignored +subject\.properties\.nickname, .*context\.extra \(no rule or policy looks at it\)$/m,
    );
    expect(lines.slice(-4)).toEqual([
      '  ask  permit  policies/b.cedar:2',
      '    @requestable  boss',
      '    @reason  approval_required',
      '    @title  Do it',
    ]);
  });

  it('assumes an approval only from the command line, never from the request', async () => {
    const decisionOf = async (context: object, ...args: string[]) =>
      (JSON.parse((await explain({ ...aCall('b'), context }, '--json', ...args)).out) as { outcome: string }).outcome;
    expect(await decisionOf({}, '--approved', 'boss')).toBe('permit');
    expect(await decisionOf({}, '--approved', 'other')).toBe('requestable');
    expect(await decisionOf({ approval: { verified: true, template: 'boss' } })).toBe('requestable');
  });

  it('names the member that cannot be evaluated, without its value', async () => {
    const { code, out } = await explain({ ...aCall('a'), context: { path: 4711 } });
    expect(code).toBe(0);
    expect(out).toMatch(
      /^decision +denied, because the evaluation failed\nreason +input_not_evaluable\ncause +context\.path is not text$/m,
    );
    expect(out).not.toContain('4711');
  });

  it.each([
    ['text that is not JSON', '{', /^countersign: - is not JSON\. Write one evaluation request/],
    ['JSON that is not a request', '{"subject": {}}', /^countersign: .*subject\.type is missing/],
  ])('refuses %s', async (_what, input, message) => {
    const { code, err } = await aDesk().run(['policy', 'explain', '-'], { input });
    expect(code).toBe(1);
    expect(err).toMatch(message);
  });
});

it('obligations are shown, explained and compared with the expected ones', async () => {
  const own = aDesk({
    'b.cedar': '@id("b") @obligation("tell") permit (principal, action, resource) when { resource.id == "b" };',
    'tell.obligation.json': '{ "type": "notification", "properties": { "to": "audit", "body": "" } }',
  });
  expect((await own.run(['policy', 'check'])).out).toMatch(/^obligations {6}tell \(notification\)$/m);
  const { out } = await own.run(['policy', 'explain', '-'], { input: JSON.stringify(aCall('b')) });
  expect(out).toMatch(/^obligations +tell \(notification\)$/m);
  expect(out).toMatch(/@obligation {2}tell$/);
  const cases = [['tell'], [], ['other']].map((obligations) => ({
    request: aCall('b'),
    expected: { decision: true, obligations },
  }));
  writeFileSync(join(own.folder, 'cases.json'), JSON.stringify({ cases }));
  const tested = await own.run(['policy', 'test', 'cases.json']);
  expect(tested.out).toMatch(/1\/3\n {2}case 2: expected obligations \[\], got \["tell"\]\n {2}case 3: /);
});
