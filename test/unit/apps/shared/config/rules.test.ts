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
      'countersign.yaml:5: rules[1].allow.tools: there is no such setting; use server, tool, effect, caller, where, when, prompt, resource, not',
      "countersign.yaml:6: rules[2].allow: names no tool: use server, tool or effect, or tool: '*' for every tool",
      'countersign.yaml:7: rules[3].allow.server: there is no "file" in mcpServers, which has files',
      'countersign.yaml:8: rules[4].allow.effect: expected one of "read"|"write"|"delete"|"external"',
      'countersign.yaml:9: rules[5]: has deny and allow: write a rule for each',
      'countersign.yaml:12: rules[6].by: is for approve: leave it out',
      'countersign.yaml:13: rules[7].approve: only calls of tools can wait for an approval: use allow or deny',
      'countersign.yaml:15: rules[8].by: approvals.templates has no "alice": add it, or name people, groups or roles, as in { people: alice }',
      'countersign.yaml:17: rules[9].by.person: there is no such setting; use people, groups, roles, resourceOwner, requesterManager, requester, passkey, quorum, freshSeconds, withinSeconds, remindAfterSeconds, approvalTtlSeconds, requestTtlSeconds, presetReasons, maxExtensionSeconds, grantsEndAtSignOut, notify, chatDecisions',
      'countersign.yaml:19: rules[10].by: no person could decide: name people, groups or roles',
      'countersign.yaml:20: rules[11].deny.where.path.lik: there is no such setting; use equal, oneOf, like, ignoreCase, path, url, over, under, present, not, anyOf',
      'countersign.yaml:21: rules[12].deny.where.path.over: expected number, received string',
      'countersign.yaml:22: rules[13].deny.where.amount: use at most four decimal places, and at most 900000000000000; a Cedar policy can compare other numbers',
      'countersign.yaml:23: rules[14].deny.where.path: expected a value, a list of values, or an object with like, path, url, over, under, present, not or anyOf',
      'countersign.yaml:24: rules[15].deny.where.a..b: is not a valid name: use the names of members, with a dot between them',
      'countersign.yaml:25: rules[16].deny.caller.group: groups are known from a directory: set directory.file',
      'countersign.yaml:26: rules[17].deny.caller.user: there is no such setting; use subject, role, group, client',
      'countersign.yaml:29: rules[19]: another rule is named "twice" too: give this one another name',
      'countersign.yaml:31: rules[20].deny: expected a pattern of tool names, a list of these, or an object with server, tool, effect, caller and where',
    ]);
  });
});

describe('a condition on a path or an address', () => {
  const faults = (condition: object) =>
    problemsOf(JSON.stringify({ rules: [{ deny: { tool: '*', where: { a: condition } } }] })).map((line) =>
      line.replace(/^.*rules\[0\]\.deny\.where\.a/, ''),
    );
  const FOLDER = 'write a folder below the root, without "..", "~" and escapes, such as /srv/data or C:\\data';
  const NAME =
    'write the name of a file or a folder, without slashes, backslashes, colons, "~1", and dots or blanks at the end';
  const HOST = 'write a host such as example.com, or *.example.com for all hosts below it';

  it.each<[object, string]>([
    ...['/', '//', '.', '~/x', '/a/../b', '/a%2fb', 'C:', 'a\\b', '/e\u0301', '\\\\server\\x'].map(
      (under): [object, string] => [{ path: { under } }, `.path.under: ${FOLDER}`],
    ),
    ...['a/b', '*/', 'a:b', 'a.', 'ENV~1', '..', '.', 'a\\*'].map((name): [object, string] => [
      { path: { name } },
      `.path.name: ${NAME}`,
    ]),
    [{ path: { part: 'a*' } }, '.path.part: write whole names here; only name takes a star'],
    [{ path: {} }, '.path: is empty: use under, name or part'],
    [{ path: { ignoreCase: true } }, '.path: is empty: use under, name or part'],
    [{ path: { within: '/a' } }, '.path.within: there is no such setting; use under, name, part, ignoreCase'],
    [{ equal: 'a', ignoreCase: true }, '.ignoreCase: is for like: leave it out, or write it inside path'],
    ...['https://a.test', 'a.test/b', 'a@b', '*.*.test', 'a.*.test', '*', '*.1.2.3.4', 'a..b', 'a.test:443', ''].map(
      (host): [object, string] => [
        { url: { host } },
        host === '' ? '.url.host: too small: expected string to have >=1 characters' : `.url.host: ${HOST}`,
      ],
    ),
    [{ url: { scheme: 'https:' } }, '.url.scheme: write a scheme in lower case and without a colon, such as https'],
    [{ url: { port: 0 } }, '.url.port: too small: expected number to be >=1'],
    [
      { url: { path: { under: '/' } } },
      '.url.path.under: write a path below the root that begins with a slash, such as /docs',
    ],
    [
      { url: { path: { under: '/a?b' } } },
      '.url.path.under: write a path below the root that begins with a slash, such as /docs',
    ],
    [{ url: {} }, '.url: is empty: use scheme, host, port or path'],
  ])('is refused where it could not mean one thing: %j', (condition, fault) => {
    expect(faults(condition)).toEqual([fault]);
  });

  it('takes lists, folders of each kind, and hosts as people write them', () => {
    const paths = { under: ['/srv/a/', 'C:\\a', 'docs'], name: ['.env*', '*.pem'], part: '.git', ignoreCase: false };
    const url = { scheme: ['https'], host: ['MÜLLER.test', '*.example.com', '[::1]', '127.0.0.1'], port: [443, 8443] };
    expect(faults({ path: paths, url: { ...url, path: { under: '/a b' } } })).toEqual([]);
  });
});

describe('hours and exclusions', () => {
  const faults = (match: object) =>
    problemsOf(
      `mcpServers: { files: { command: x } }\nrules:\n  - allow: ${JSON.stringify({ tool: '*', ...match })}\n`,
    ).map((line) => line.replace('countersign.yaml:3: rules[0].allow', ''));

  it.each<[object, string]>([
    [{ when: { days: 'mon' } }, '.when.timeZone: say in which time zone, such as Europe/Zurich'],
    [
      { when: { days: 'mon', timeZone: 'Europe/Nowhere' } },
      '.when.timeZone: use an IANA time zone, such as Europe/Zurich',
    ],
    [{ when: { timeZone: 'UTC' } }, '.when: is always: use days, from or until'],
    [{ when: { from: '9:00', timeZone: 'UTC' } }, '.when.from: use a time of day such as 09:00'],
    [{ when: { from: '09:00', until: '09:00', timeZone: 'UTC' } }, '.when: is empty: use two different times'],
    [{ when: { from: '24:00', timeZone: 'UTC' } }, '.when: is empty: use two different times'],
    [{ when: { hours: 9, timeZone: 'UTC' } }, '.when.hours: there is no such setting; use days, from, until, timeZone'],
    [{ not: { server: 'file' } }, '.not.server: there is no "file" in mcpServers, which has files'],
    [{ not: ['a', { server: 'file' }] }, '.not[1].server: there is no "file" in mcpServers, which has files'],
    [{ not: {} }, '.not: is empty: use server, tool, effect, caller, where or when'],
    [
      { where: { a: { not: {} } } },
      '.where.a.not: is empty: use equal, oneOf, like, path, url, over, under, present, not or anyOf',
    ],
    [{ where: { a: { anyOf: [] } } }, '.where.a.anyOf: too small: expected array to have >=1 items'],
    [{ tool: undefined, prompt: 'p', not: { tool: 'x' } }, ': has not, which is for tools: leave it out'],
  ])('are refused at their line where they mean nothing: %j', (match, fault) => {
    expect(faults(match)).toEqual([fault]);
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
