import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../../../apps/shared/config/load.ts';
import { readEnvironment } from '../../../../../apps/shared/config/env.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'countersign-rules-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

function load(text: string) {
  writeFileSync(join(cwd, 'countersign.yaml'), text);
  return loadConfig({ environment: readEnvironment({}), cwd }).config;
}

function problemsOf(text: string): string[] {
  try {
    load(text);
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

const TWENTY_MISTAKES = `mcpServers:
  files: { command: x }
rules:
  - permit: files__read
  - allow: { tools: files__read }
  - allow: {}
  - allow: { server: file }
  - allow: { server: files, effect: reads }
  - allow: files__read
    deny: files__write
  - allow: files__read
    by: { people: alice }
  - approve: { prompt: 'files__*' }
  - approve: a
    by: alice
  - approve: b
    by: { person: alice }
  - approve: c
    by: { quorum: 2 }
  - deny: { tool: a, where: { path: { lik: '/srv/*' } } }
  - deny: { tool: b, where: { path: { over: many } } }
  - deny: { tool: c, where: { amount: 0.00001 } }
  - deny: { tool: d, where: { path: } }
  - deny: { tool: e, where: { 'a..b': 1 } }
  - deny: { tool: f, caller: { group: finance } }
  - deny: { tool: g, caller: { user: alice } }
  - name: twice
    deny: x
  - name: twice
    deny: y
  - deny: 7
`;

describe('a file of rules with twenty mistakes', () => {
  it('gets a message for each, with its line and what to write instead', () => {
    expect(problemsOf(TWENTY_MISTAKES)).toEqual([
      'countersign.yaml:4: rules[0].permit: there is no such setting; use allow, approve, deny, insteadOf, by, grantable, name, description',
      'countersign.yaml:5: rules[1].allow.tools: there is no such setting; use server, tool, prompt, resource, effect, caller, where',
      "countersign.yaml:6: rules[2].allow: names no tool: use server, tool or effect, or tool: '*' for every tool",
      'countersign.yaml:7: rules[3].allow.server: there is no "file" in mcpServers, which has files',
      'countersign.yaml:8: rules[4].allow.effect: expected one of "read"|"write"|"delete"|"external"',
      'countersign.yaml:9: rules[5]: has deny and allow: write a rule for each',
      'countersign.yaml:12: rules[6].by: is for approve: leave it out',
      'countersign.yaml:13: rules[7].approve: only calls of tools can wait for an approval: use allow or deny',
      'countersign.yaml:15: rules[8].by: approvals.templates has no "alice": add it, or name people, groups or roles, as in { people: alice }',
      'countersign.yaml:17: rules[9].by.person: there is no such setting; use people, groups, roles, resourceOwner, requesterManager, requester, passkey, quorum, freshSeconds, withinSeconds, remindAfterSeconds, approvalTtlSeconds, requestTtlSeconds, presetReasons, maxExtensionSeconds, grantsEndAtSignOut, notify, chatDecisions',
      'countersign.yaml:19: rules[10].by: no person could decide: name people, groups or roles',
      'countersign.yaml:20: rules[11].deny.where.path.lik: there is no such setting; use equal, oneOf, like, over, under, present',
      'countersign.yaml:21: rules[12].deny.where.path.over: expected number, received string',
      'countersign.yaml:22: rules[13].deny.where.amount: use at most four decimal places, and at most 900000000000000; a Cedar policy can compare other numbers',
      'countersign.yaml:23: rules[14].deny.where.path: expected a value, a list of values, or an object with like, over, under or present',
      'countersign.yaml:24: rules[15].deny.where.a..b: is not a valid name: use the names of members, with a dot between them',
      'countersign.yaml:25: rules[16].deny.caller.group: groups are known from a directory: set directory.file',
      'countersign.yaml:26: rules[17].deny.caller.user: there is no such setting; use subject, role, group, client',
      'countersign.yaml:29: rules[19]: another rule is named "twice" too: give this one another name',
      'countersign.yaml:31: rules[20].deny: expected a pattern of tool names, a list of these, or an object with server, tool, effect, caller and where',
    ]);
  });
});

describe('a rule that stands in place of others', () => {
  const faults = (...rules: readonly object[]) => problemsOf(JSON.stringify({ rules }));

  it('names approve rules that are there', () => {
    const asks = { approve: 'a', name: 'asks' };
    expect(faults(asks, { allow: 'a', insteadOf: ['asks', 'allow a'] })).toEqual([
      expect.stringContaining('rules[1].insteadOf: no approve rule is named "allow a": the names are "asks"'),
    ]);
    expect(faults({ allow: 'a', insteadOf: 'asks' })[0]).toContain('no approve rule is named "asks": there is none');
  });

  it('is an allow rule for tools', () => {
    const asks = { approve: 'a', name: 'asks' };
    expect(faults(asks, { deny: 'a', insteadOf: 'asks' })[0]).toContain('insteadOf: is for allow: leave it out');
    expect(faults({ ...asks, insteadOf: 'asks' })[0]).toContain('insteadOf: is for allow: leave it out');
    expect(faults(asks, { allow: { prompt: 'p' }, insteadOf: 'asks' })[0]).toContain('insteadOf: is for tools');
  });
});
