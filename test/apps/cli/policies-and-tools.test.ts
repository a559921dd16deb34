import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { configuredPlaces, lintPolicies } from '../../../apps/cli/commands/lint/policies.ts';
import { reportForgottenTools } from '../../../apps/cli/commands/up-parts.ts';
import { surveyTools } from '../../../apps/pdp/main.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { recordingLog } from '../../support/pdp.ts';
import { aCall } from '../../support/policy-folder.ts';
import { aTool } from '../../support/tools.ts';
import { policyDesk, REQUESTABLE } from './policy-desk.ts';

const policy = (id: string, condition: string, { effect = 'permit', action = 'action == Action::"tools/call"' } = {}) =>
  `@id("${id}") ${effect} (principal, ${action}, resource) when { ${condition} };\n`;

/** The configuration of a desk with these policies in addition to `permit-a`, and an upstream `bank`. */
function configOf(policies: string, more: object = {}) {
  const desk = policyDesk({ 'b.cedar': policies });
  const settings = { pdp: { policies: `${desk.folder}/policies` }, mcpServers: { bank: { command: 'x' } }, ...more };
  return parseConfig(settings, { baseDir: desk.folder, stateDir: desk.stateDir });
}
const AT = { baseDir: '/', stateDir: '/' };
const bank = (...names: string[]) => names.map((name) => aTool({ name }));
const lint = async (policies: string, tools = bank('pay'), more: object = {}) =>
  (await lintPolicies(configOf(policies, more), { tools, refused: [], unlisted: new Map() }, (problem) => problem))
    .filter(({ about }) => about !== 'a')
    .map(({ severity, rule, about, message }) => [severity, rule, about, message]);

describe('a tool that a policy names and its upstream lacks', () => {
  it.each([
    ['by its id', 'resource.id == "bank__pya"'],
    ['with the operands exchanged', '"bank__pya" == resource.id'],
    ['in a list', '["bank__pay", "bank__pya"].contains(resource.id)'],
    ['beside its type', 'resource.type == "tool" && resource.id == "bank__pya"'],
    ['as itself', 'resource == Resource::"tool|bank__pya"'],
    ['in a set of resources', 'resource in [Resource::"tool|bank__pya"]'],
    ['by a negation', 'resource.id != "bank__pya"'],
    ['by a negated list', '!["bank__pya"].contains(resource.id)'],
    ['beside another condition', 'resource.id == "bank__pya" || principal.id == "root"'],
  ])('is an error: %s', async (_how, condition) => {
    const all = `${policy('named', condition)}${policy('all', 'resource.id like "bank__*"')}`;
    expect(await lint(all)).toEqual([
      [
        'error',
        'no-such-tool',
        'bank__pya',
        expect.stringMatching(/policy "named" in b\.cedar.*bank has no such tool; correct/),
      ],
    ]);
  });

  it('is an error in the scope, in a forbid, and for every action at once', async () => {
    const all = `${REQUESTABLE.replace('tool|b"', 'tool|bank__pya"')}${policy('no', 'resource.id == "bank__old"', { effect: 'forbid' })}${policy('any', 'resource.id == "bank__gone" || resource.id == "bank__pay"', { action: 'action' })}`;
    const found = (await lint(all)).map(([severity, rule, about]) => `${severity} ${rule} ${about}`);
    expect(found.sort()).toEqual(['gone', 'old', 'pya'].map((name) => `error no-such-tool bank__${name}`));
  });

  it('is not reported when the upstream could not list its tools', async () => {
    const config = configOf(policy('named', 'resource.id == "bank__pya"'));
    const unlisted = new Map([['bank', 'bank cannot be used']]);
    const findings = await lintPolicies(config, { tools: [], refused: [], unlisted }, (problem) => problem);
    expect(findings.filter(({ about }) => about === 'bank__pya')).toEqual([]);
  });

  it('is a warning when the upstream lists no tools, or when no upstream has its prefix', async () => {
    const named = policy('named', 'resource.id == "bank__pay"');
    expect(await lint(named, [])).toEqual([
      ['warning', 'no-such-tool', 'bank__pay', expect.stringMatching(/lists no tools; remove the name/)],
    ]);
    const others = { mcpServers: { files: { command: 'x' } } };
    expect(await lint(named, [], others)).toEqual([
      ['warning', 'no-such-tool', 'bank__pay', expect.stringMatching(/no upstream with its prefix is configured; add/)],
    ]);
  });

  it.each([
    ['exists', 'resource.id == "bank__pay"'],
    ['is a prompt', 'resource.id == "bank__pay" || (resource.type == "prompt" && resource.id == "bank__hello")'],
    [
      'is compared with another value',
      'resource.id == "bank__pay" || resource.type == "bank__gone" || (context has path && context.path == "bank__gone")',
    ],
  ])('is not reported when it %s', async (_how, condition) => {
    expect(await lint(policy('named', condition))).toEqual([]);
  });
});

describe('a tool that no policy permits in any case', () => {
  const survey = async (policies: string, ...tools: string[]) =>
    (await surveyTools(configuredPlaces(configOf(policies)), tools)).forgotten;

  it.each([
    ['named', 'resource.id == "bank__pay"'],
    ['matched by a pattern', 'resource.id like "bank__p*y"'],
    ['permitted to some callers', 'resource.id == "bank__pay" && principal.id == "root"'],
    ['permitted with some arguments', 'context has path && context.path like "/srv/*"'],
    [
      'permitted with an approval',
      'resource.id == "bank__pay" && context has approval && context.approval.template == "boss"',
    ],
    ['permitted with all others', 'resource.type == "tool"'],
    ['one of the rest', 'resource.id != "bank__other"'],
  ])('is not reported when it is %s', async (_how, condition) => {
    expect(await survey(policy('x', condition), 'bank__pay')).toEqual([]);
  });

  it.each([
    ['in no policy', ''],
    ['of another name', policy('x', 'resource.id like "bank__p*e"')],
    ['only the name of a prompt', policy('x', 'resource.type == "prompt" && resource.id like "bank__*"')],
    ['only in a forbid for all tools', policy('x', 'principal.id == "mallory"', { effect: 'forbid' })],
  ])('is reported when it is %s', async (_how, policies) => {
    expect(await survey(policies, 'a', 'bank__pay')).toEqual(['bank__pay']);
  });

  it('is not reported when a policy forbids it by name', async () => {
    expect(await survey(policy('x', 'resource.id == "bank__pay"', { effect: 'forbid' }), 'bank__pay')).toEqual([]);
  });

  it('is a warning of `lint`, except where a mapping asks in other terms', async () => {
    const mapped = {
      'x-authzen-mapping': { evaluation: { action: { name: 'pay' }, resource: { type: 'account', id: '1' } } },
    };
    const tools = [...bank('pay'), aTool({ name: 'wire', inputSchema: { type: 'object', ...mapped } })];
    expect(await lint('', tools)).toEqual([
      ['warning', 'no-policy', 'bank__pay', expect.stringMatching(/name it in one/)],
    ]);
  });

  it('is one console line after the start', async () => {
    const { lines, log } = recordingLog();
    const upstreams = { tools: () => Promise.resolve([...bank('pay', 'move'), aTool({ name: 'known' })]) };
    const config = configOf(policy('x', 'resource.id == "bank__known"'));
    await reportForgottenTools({ config, upstreams, log });
    expect(lines).toMatchObject([
      {
        level: 40,
        tools: ['bank__pay', 'bank__move'],
        msg: expect.stringMatching(/every call is refused: bank__pay, bank__move\. Name them in \//),
      },
    ]);
    await reportForgottenTools({
      config: { ...config, pdp: { ...config.pdp, url: 'http://pdp.test' } },
      upstreams,
      log,
    });
    const ruled = parseConfig({ mcpServers: { bank: { command: 'x' } }, rules: [{ deny: 'bank__p*' }] }, AT);
    await reportForgottenTools({ config: ruled, upstreams, log });
    expect(lines.pop()).toMatchObject({
      tools: ['bank__move', 'bank__known'],
      msg: expect.stringMatching(/Name them in a rule of the configuration/),
    });
    const away = { tools: () => Promise.reject(new Error('away')) };
    await reportForgottenTools({ config, upstreams: away, log: pino({ enabled: false }) });
    expect(lines).toHaveLength(1);
  });
});

it('a rule with a name that no tool has is a console line, once its server has listed its tools', async () => {
  const settings = { mcpServers: { bank: { command: 'x' } }, rules: [{ deny: 'bank__mode' }, { allow: 'bank__*' }] };
  const ruled = parseConfig(settings, AT);
  const said = async (tools: readonly UpstreamTool[]) => {
    const { lines, log } = recordingLog();
    await reportForgottenTools({ config: ruled, upstreams: { tools: () => Promise.resolve(tools) }, log });
    return lines.map(({ level, msg }) => [level, msg]);
  };
  const message =
    'the rule "deny bank__mode" matches no tool, so it does nothing: correct its name of a tool or server';
  expect(await said(bank('move'))).toEqual([[40, message]]);
  expect(await said(bank('mode'))).toEqual([]);
  expect(await said([])).toEqual([]);
});

it('`lint` reports faults of the policies like `policy check`', async () => {
  const permits = REQUESTABLE.slice(0, REQUESTABLE.indexOf('when')) + ';\n';
  const found = await lint(permits);
  expect(found).toEqual([
    [
      'error',
      'policy',
      'b.cedar:2:1',
      expect.stringMatching(/"ask" is @requestable\("boss"\) and permits without an approval\. Add/),
    ],
  ]);
  const { code, out } = await policyDesk({ 'b.cedar': permits }).run(['policy', 'check']);
  expect([code, out]).toEqual([1, expect.stringMatching(/^error {4}policies\/b\.cedar:2:1: "ask" is @requestable/)]);
});

it('`policy explain` distinguishes a request that no policy covers from one whose conditions do not hold', async () => {
  const explain = async (tool: string) => {
    const desk = policyDesk({ 'b.cedar': policy('some', 'resource.id == "b" && principal.id == "root"') });
    return (await desk.run(['policy', 'explain', '-'], { input: JSON.stringify(aCall(tool)) })).out.split('\n').at(-1);
  };
  expect(await explain('b')).toBe('No policy permits this. In other cases these do: some.');
  expect(await explain('nothing')).toBe(
    'No policy permits this action on this resource in any case. Add a permit that names it.',
  );
});
