import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { configuredPlaces, lintPolicies } from '../../../apps/cli/commands/lint/policies.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { aTool } from '../../support/tools.ts';
import { policyDesk } from './policy-desk.ts';
import { Desk } from './run.ts';

const CONFIG = `mcpServers:
  files: { command: x }
  mail: { command: x, prefix: post }
tools:
  files__read: { effect: read }
rules:
  - allow: { server: files, effect: read }
  - approve: { server: files, tool: write, where: { path: { like: '/srv/*' } } }
    by: { roles: approver, quorum: 2 }
    description: Writes a file.
  - approve: { tool: '*__write' }
    name: every write
  - deny: { caller: { client: 'bot-*' }, tool: '*' }
    name: no bots
`;

const explain = async (desk: Desk, ...args: string[]) => (await desk.run(['policy', 'explain', ...args])).out;

describe('countersign policy explain, about rules', () => {
  it('says which rule allows a call, and its line', async () => {
    const out = await explain(new Desk(CONFIG), '--tool', 'files__read', '--client', 'cli');
    expect(out).toMatch(/^decision {2}permitted\n/);
    expect(out).toContain('allow read files  permit  countersign.yaml:7');
  });

  it('names every rule that asks for an approval, and one approval that covers all', async () => {
    const call = ['--tool', 'files__write', '--arguments', '{"path": "/srv/a"}', '--client', 'cli'];
    const out = await explain(new Desk(CONFIG), ...call);
    expect(out).toMatch(/^decision {2}denied, until an approver approves\n/);
    expect(out).toContain('an approval of approve files: write with path + approver');
    expect(out).toContain('approve files: write with path  forbid  countersign.yaml:8');
    expect(out).toContain('every write  forbid  countersign.yaml:11');
  });

  it('follows caller and arguments', async () => {
    const desk = new Desk(CONFIG);
    expect(await explain(desk, '--tool', 'files__read', '--client', 'bot-7')).toContain('no bots  forbid');
    const other = await explain(desk, '--tool', 'files__write', '--arguments', '{"path": "/etc/a"}', '--client', 'cli');
    expect(other).toContain('an approval of approver:');
  });

  it('tells apart a tool that no rule names', async () => {
    const out = await explain(new Desk(CONFIG), '--tool', 'post__send', '--client', 'cli');
    expect(out).toContain('denied, and no approval would change that');
  });

  it.each([
    [['--tool', 'x', '--arguments', '[1]'], '--arguments is not a JSON object'],
    [['--tool', 'x', '--effect', 'reads'], '--effect is one of read, write, delete, external'],
    [[], 'name the call with --tool, or give a file'],
  ])('says what is wrong with %j', async (args, problem) => {
    const { code, err } = await new Desk(CONFIG).run(['policy', 'explain', ...args]);
    expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
  });
});

describe('the rules of the example', () => {
  const example = () => new Desk(readFileSync(packagePath('countersign.yaml'), 'utf8'));

  it.each([
    ['read_text_file', '{"path": "a"}', 'permitted'],
    ['list_directory', '{}', 'permitted'],
    ['get_file_info', '{}', 'permitted'],
    ['write_file', '{"path": "a", "content": "b"}', 'denied, until an approver approves'],
    ['create_directory', '{"path": "a"}', 'denied, until an approver approves'],
    ['move_file', '{"source": "a", "destination": "b"}', 'denied, and no approval'],
    ['write_file', '{"path": "a/.env.local", "content": "b"}', 'denied, and no approval'],
    ['write_file', '{"path": "a/../.env", "content": "b"}', 'denied, and no approval'],
    ['edit_file', '{}', 'denied, and no approval'],
    ['delete_file', '{"path": "a"}', 'denied, and no approval'],
  ])('decide about %s with %s', async (tool, args, decision) => {
    const out = await explain(example(), '--tool', `files__${tool}`, '--arguments', args, '--client', 'x');
    expect(out).toContain(`decision  ${decision}`);
  });
});

describe('countersign policy eject', () => {
  it('writes policies that decide as the rules do', async () => {
    const desk = new Desk(CONFIG);
    const { code, out, err } = await desk.run(['policy', 'eject', 'cedar']);
    expect([code, out.split('\n')]).toEqual([
      0,
      expect.arrayContaining(['cedar/rules.cedar', 'cedar/schema.cedarschema']),
    ]);
    const [, settings = ''] = err.split('add:\n\n');
    const ejected = new Desk(`${CONFIG.slice(0, CONFIG.indexOf('rules:'))}${settings}`);
    const copied = await desk.run(['policy', 'check', 'cedar', '--json']);
    expect(JSON.parse(copied.out)).toMatchObject({ errors: [], warnings: [] });
    const calls = [
      ['--tool', 'files__read', '--client', 'cli'],
      ['--tool', 'files__write', '--arguments', '{"path": "/srv/a"}', '--client', 'cli'],
      ['--tool', 'post__write', '--client', 'cli'],
      ['--tool', 'files__read', '--client', 'bot-1'],
    ];
    for (const call of calls) {
      const said = async (from: Desk, more: string[]) => {
        const { outcome, template } = JSON.parse(await explain(from, ...call, ...more, '--json')) as Record<
          string,
          unknown
        >;
        return { outcome, template };
      };
      const folder = join(desk.folder, 'cedar');
      expect(await said(ejected, ['--policies', folder])).toEqual(await said(desk, []));
    }
    expect(settings).toContain('policies: ./cedar');
    expect(settings).toContain('quorum: 2');
  });

  it('writes what docs/rules.md shows', async () => {
    const page = readFileSync(packagePath('docs', 'rules.md'), 'utf8');
    const [, rule = '', cedar = ''] =
      /This rule\n\n```yaml\n(.*?)```\n\nbecomes:\n\n```cedar\n(.*?)```/s.exec(page) ?? [];
    const desk = new Desk(rule);
    await desk.run(['policy', 'eject', 'cedar']);
    expect(readFileSync(join(desk.folder, 'cedar/rules.cedar'), 'utf8')).toBe(cedar);
  });

  it('overwrites nothing', async () => {
    const desk = new Desk(CONFIG);
    await desk.run(['policy', 'eject', 'cedar']);
    const before = readFileSync(join(desk.folder, 'cedar/rules.cedar'), 'utf8');
    const { code, err } = await desk.run(['policy', 'eject', 'cedar']);
    expect([code, err]).toEqual([1, expect.stringContaining('is not empty; name another folder')]);
    expect(readFileSync(join(desk.folder, 'cedar/rules.cedar'), 'utf8')).toBe(before);
  });

  it('says so where there are no rules', async () => {
    const { code, err } = await new Desk('mcpServers: {}').run(['policy', 'eject', 'cedar']);
    expect([code, err]).toEqual([1, expect.stringContaining('the configuration has no rules')]);
  });
});

describe('countersign policy replay, with changed rules', () => {
  it('lists the calls that another configuration decides differently', async () => {
    const desk = new Desk(CONFIG);
    const changed = CONFIG.replace('  - allow: { server: files, effect: read }\n', '');
    writeFileSync(join(desk.folder, 'changed.yaml'), changed);
    const call = (tool: string) => ({
      subject: { type: 'identity', id: 'alice' },
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: tool },
      context: { agent: 'cli', arguments: {}, call: { tool, server: 'files', effect: 'read', roles: [] } },
    });
    const cases = ['files__read', 'files__write'].map((tool) => ({
      name: tool,
      request: call(tool),
      expected: { decision: true },
    }));
    writeFileSync(join(desk.folder, 'calls.yaml'), JSON.stringify({ cases }));
    const { out } = await desk.run(['policy', 'replay', 'calls.yaml', '--policies', 'changed.yaml']);
    expect(out).toContain('files__read: tools/call on tool files__read by identity alice');
    expect(out).toContain('before  permit  allow read files (countersign.yaml:7)');
    expect(out).toMatch(/calls {10}2\nchanged {8}1\n/);
  });
});

describe('the approvers of a rule', () => {
  it('decide about nothing that a policy asks for', async () => {
    const policy =
      '@id("p")\n@requestable("payments")\nforbid (principal, action, resource) unless { context has approval && context.approval.template == "payments" };';
    const desk = policyDesk({ 'b.cedar': policy });
    const rules = [{ approve: 'bank__*', name: 'payments', by: { requester: true } }];
    writeFileSync(join(desk.folder, 'countersign.yaml'), JSON.stringify({ pdp: { policies: './policies' }, rules }));
    const { code, out } = await desk.run(['policy', 'check']);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        /^error {4}policies\/b\.cedar:1:1: "p" asks for an approval of "payments", which is the name of a rule/,
      ),
    ]);
  });
});

describe('countersign policy replay, with hours', () => {
  it('decides each call of a decision log by the time of its decision', async () => {
    const desk = new Desk({ rules: [{ allow: '*' }] });
    const when = { from: '09:00', until: '10:00', timeZone: 'UTC' };
    writeFileSync(join(desk.folder, 'changed.yaml'), JSON.stringify({ rules: [{ allow: { tool: '*', when } }] }));
    const line = (time: string) =>
      JSON.stringify({
        ...{
          time,
          policy_version: 'sha-256:00',
          requester: 'mcp-gateway',
          decision: true,
          outcome: 'permit',
          policies: [],
        },
        request: {
          subject: { type: 'identity', id: 'alice' },
          action: { name: 'tools/call' },
          resource: { type: 'tool', id: 'x' },
          context: {},
        },
      });
    const times = ['2026-11-27T09:30:00.000Z', '2026-11-27T10:00:00.000Z'];
    writeFileSync(join(desk.folder, 'decisions.jsonl'), times.map(line).join('\n'));
    const { out } = await desk.run(['policy', 'replay', 'decisions.jsonl', '--policies', 'changed.yaml']);
    expect(out).toMatch(/^line 2: /);
    expect(out).toMatch(/calls {10}2\nchanged {8}1\n/);
  });
});

describe('countersign policy check', () => {
  it.each<[object, string]>([
    [{ where: { u: { like: 'https://*' } } }, 'fits addresses of any host'],
    [{ where: { u: { like: 'https://*.example.com/*' } } }, 'fits addresses of any host'],
    [{ where: { u: { like: 'https://example.com*' } } }, 'fits addresses of any host'],
    [{ where: { u: { like: '*://example.com/' } } }, 'fits addresses of any host'],
    [{ where: { u: { anyOf: [{ present: false }, { like: 'https://*' }] } } }, 'fits addresses of any host'],
    [{ where: { to: { like: '*@example.com' } } }, 'fits texts with several addresses'],
    [{ tool: undefined, resource: 'https://*.example.com/*' }, 'fits addresses of any host'],
  ])('warns of an allow rule that is wider than it seems: %j', async (match, warning) => {
    const check = async (verb: string) => {
      const rule = { [verb]: { tool: '*', ...match }, name: 'wide' };
      return (await new Desk(JSON.stringify({ rules: [rule] })).run(['policy', 'check'])).out;
    };
    expect(await check('allow')).toMatch(new RegExp(`^warning  countersign.yaml:1: .*of the rule "wide" ${warning}`));
    expect(await check('deny')).not.toContain('warning');
  });

  it.each([
    { u: { like: 'https://example.com/*' } },
    { u: { like: 'Report *' } },
    { u: { url: { host: '*.example.com' } } },
    { to: 'dana@example.com' },
  ])('does not warn of %j', async (where) => {
    const desk = new Desk(JSON.stringify({ rules: [{ allow: { tool: '*', where } }] }));
    expect((await desk.run(['policy', 'check'])).out).not.toContain('warning');
  });
});

describe('lint, about rules', () => {
  const lint = async (rules: object[], ...names: string[]) => {
    const raw = { mcpServers: { bank: { command: 'x' } }, rules };
    const config = parseConfig(raw, { baseDir: '/', stateDir: '/' });
    expect(configuredPlaces(config).rules?.isAlone).toBe(true);
    const offered = { tools: names.map((name) => aTool({ name })), refused: [], unlisted: new Map() };
    const findings = await lintPolicies(config, offered, (problem) => problem);
    return findings.map(({ severity, rule, about, message }) => [severity, rule, about, message]);
  };

  it('names the tools that no rule allows', async () => {
    expect(await lint([{ allow: 'bank__pay' }], 'pay', 'steal')).toEqual([
      ['warning', 'no-policy', 'bank__steal', expect.stringContaining('no rule or policy permits it')],
    ]);
  });

  it('takes a tool for known that a rule refuses among others', async () => {
    const rules = [
      { allow: 'bank__pay' },
      { deny: { server: 'bank', tool: 'steal_*' } },
      { deny: { tool: '*', caller: { subject: 'eve' } } },
    ];
    expect(await lint(rules, 'pay', 'steal_all', 'move')).toEqual([
      ['warning', 'no-policy', 'bank__move', expect.any(String)],
    ]);
  });

  it('names a rule that matches no tool', async () => {
    expect(await lint([{ allow: { server: 'bank' } }, { deny: 'bank__pya', name: 'typo' }], 'pay')).toEqual([
      ['warning', 'policy', 'rules[1]', expect.stringContaining('the rule "typo" matches no tool')],
    ]);
  });

  it('finds nothing where every tool has a rule', async () => {
    expect(await lint([{ approve: { server: 'bank' } }], 'pay')).toEqual([]);
  });
});
