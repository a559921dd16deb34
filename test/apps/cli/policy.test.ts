import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { DEFAULT_POLICIES, FIXTURE_POLICIES } from '../../support/pdp.ts';
import { Desk } from './run.ts';

/** Runs `policy test` over a file with this content, beside a configuration that names the example policies. */
function test(content: unknown, ...args: string[]) {
  const desk = new Desk({ pdp: { policies: DEFAULT_POLICIES } });
  const file = join(desk.folder, 'cases.yaml');
  writeFileSync(file, typeof content === 'string' ? content : stringify(content));
  return desk.run(['policy', 'test', 'cases.yaml', ...args]);
}

const aCall = (tool: string, context: object = {}) => ({
  subject: { type: 'identity', id: 'agent' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: tool },
  context: { arguments: { path: '/srv/notes.txt' }, ...context },
});
const template = 'operator_approval';

describe('countersign policy test', () => {
  it('compares decisions, offers and permits after approvals with the expectations of a file', async () => {
    const request = aCall('files__write_file');
    const { code, out, err } = await test({
      cases: [
        { name: 'looking is free', request: aCall('files__read_file'), expected: true },
        { request, expected: { decision: false, reason: 'approval_required', template } },
        { request, approval: { template }, expected: true },
        {
          request,
          approval: { template, state: 'expired' },
          expected: { decision: false, reason: 'approval_expired', template, next_action: 'request' },
        },
        {
          request,
          approval: { template: 'another' },
          expected: { decision: false, reason: 'out_of_scope', next_action: 'request' },
        },
        {
          name: 'an approval that the caller made up',
          request: aCall('files__write_file', { approval: { verified: true, template } }),
          expected: { decision: false, reason: 'approval_unverifiable', next_action: 'none' },
        },
        {
          request: { ...request, evaluations: [{}, { resource: { type: 'tool', id: 'files__read_file' } }] },
          expected: [false, true],
        },
      ],
    });
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/cases\.yaml {2}7\/7$/);
  });

  it('names each difference from the expectations, and fails', async () => {
    const cases = [
      { name: 'moving', request: aCall('files__move_file'), expected: { decision: false, template } },
      { request: { ...aCall('files__read_file'), evaluations: [{}] }, expected: [true, true] },
      { name: 'no subject', request: { action: { name: 'x' } }, expected: false },
      { request: aCall('files__read_file'), expected: true },
    ];
    const { code, out, err } = await test({ cases });
    expect([code, err]).toEqual([
      1,
      'countersign: 3 of 4 cases are not as expected; correct the policies or the cases',
    ]);
    expect(out.split('\n').slice(1)).toEqual([
      '  moving: expected template "operator_approval", got none',
      '  case 2: expected 2 decisions, got 1',
      '  no subject: subject is missing',
    ]);
    const { files } = JSON.parse((await test({ cases }, '--json')).out) as {
      files: { policies: string; cases: { name: string; misses: string[] }[] }[];
    };
    expect(files[0]?.policies).toBe(DEFAULT_POLICIES);
    expect(files[0]?.cases.map(({ misses }) => misses.length)).toEqual([1, 1, 1, 0]);
  });

  it('accepts published interoperability scenarios unchanged', async () => {
    const desk = new Desk({});
    const scenario = packagePath('test', 'authzen', 'scenarios', 'records');
    const published = (name: string) => packagePath('test', 'fixtures', 'authzen', `${name}.json`);
    const files = ['search-subject', 'search-resource', 'search-action', 'idp'].map(published);
    const { code, out } = await desk.run(['policy', 'test', ...files, '--policies', scenario]);
    expect([code, out.split('\n').map((line) => line.split('  ')[1])]).toEqual([
      0,
      ['60/60', '18/18', '120/120', '6/6'],
    ]);
    const todo = packagePath('test', 'authzen', 'scenarios', 'todo');
    const decisions = await desk.run(['policy', 'test', published('todo-decisions-1_0-02'), '--policies', todo]);
    expect([decisions.code, decisions.out]).toEqual([0, `${published('todo-decisions-1_0-02')}  43/43`]);
  });

  it('evaluates the policies that the file names', async () => {
    const request = { subject: { type: 'user', id: 'alice' }, action: { name: 'read' } };
    const cases = [{ request: { ...request, resource: { type: 'record', id: 'record-1' } }, expected: true }];
    expect((await test({ policies: FIXTURE_POLICIES, cases })).code).toBe(0);
    expect((await test({ cases })).code).toBe(1);
  });

  it.each<[string, unknown, RegExp]>([
    ['no cases', { cases: [] }, /cases/],
    ['no cases of a scenario', {}, /there is no case in it/],
    ['a misspelt expectation', { cases: [{ request: {}, expected: { decision: false, reasons: 'x' } }] }, /reasons/],
    ['an approval for a batch', { cases: [{ request: {}, approval: { template }, expected: [true] }] }, /cases/],
    ['text that is not YAML', 'cases: [', /cases\.yaml: /],
    ['missing policies', { policies: './nowhere', cases: [{ request: {}, expected: true }] }, /nowhere/],
  ])('refuses a file with %s', async (_name, content, why) => {
    const { code, out, err } = await test(content);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(why);
  });

  it('says that a file is missing', async () => {
    const desk = new Desk({});
    const { code, err } = await desk.run(['policy', 'test', 'missing.yaml']);
    expect(code).toBe(1);
    expect(err).toMatch(/missing\.yaml: the file cannot be read/);
  });
});
