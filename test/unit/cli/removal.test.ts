import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { commentOn, withAdditions } from '../../../apps/cli/configuration/additions.ts';
import { partsOfServer } from '../../../apps/cli/configuration/parts-of-server.ts';
import { withoutEntries } from '../../../apps/cli/configuration/removal.ts';

const without = (text: string, server: string) => withoutEntries(text, partsOfServer(parse(text), server).paths);

const BEFORE = `# top
mode:   development   # aligned
mcpServers:
    git: { command: "y", args: [ 'one' ] } # the first
    # about files
    files:   # of this folder
        command: x

        args:
            - -y   # yes
    # after files
    crm: {url: "https://crm.example"}

tools: {files__write: {effect: write}, git__log: {effect: read}, files__read: {effect: read}}
rules:
- name: Look at files   # mine
  allow: { server: files, tool: read }
  # within the rule
  description: |
    Two
    lines
# about both
- allow: { server: [git, files] }
-   approve: ['files__*', git__push, files__write]   # mixed
- deny: { tool: '*', caller: { subject: eve }, not: files__read }
- deny: files__write
host:   127.0.0.1
`;

const AFTER = `# top
mode:   development   # aligned
mcpServers:
    git: { command: "y", args: [ 'one' ] } # the first
    # about files
    # after files
    crm: {url: "https://crm.example"}

tools: {git__log: {effect: read}}
rules:
# about both
- allow: { server: [git] }
-   approve: [git__push]   # mixed
- deny: { tool: '*', caller: { subject: eve }, not: files__read }
host:   127.0.0.1
`;

describe('the removal of a server from a text', () => {
  it('takes its parts, and leaves every other character as it was', () => {
    expect(without(BEFORE, 'files')).toBe(AFTER);
  });

  it.each([
    [
      'the last of each section',
      'mcpServers:\n  a:\n    command: x # mine\n# kept\ntools:\n  a__b: { effect: read }\nrules: # kept too\n  - allow: a__b\n',
      'mcpServers: {}\n# kept\ntools: {}\nrules: [] # kept too\n',
    ],
    [
      'a colon in the comment of a section that becomes empty',
      'mcpServers: # see: below\n  # first: a\n  a: { command: x }\n',
      'mcpServers: {} # see: below\n  # first: a\n',
    ],
    [
      'JSON',
      '{\n  "mcpServers": {\n    "b": { "command": "y" },\n    "a": { "command": "x" }\n  },\n  "rules": [{ "allow": "a__*" }, { "deny": "b__c" }]\n}\n',
      '{\n  "mcpServers": {\n    "b": { "command": "y" }\n  },\n  "rules": [{ "deny": "b__c" }]\n}\n',
    ],
    ['JSON with one server', '{"mcpServers":{"a":{"command":"x"}},"rules":[]}', '{"mcpServers":{},"rules":[]}'],
    ['the section of VS Code', 'servers:\n  a: { command: x }\n  b: { command: y }', 'servers:\n  b: { command: y }'],
    [
      'Windows lines',
      'mcpServers:\r\n  a: { command: x }\r\n  b: { command: y }\r\n',
      'mcpServers:\r\n  b: { command: y }\r\n',
    ],
    [
      'its own prefix',
      'mcpServers:\n  a: { command: x, prefix: p }\n  b: { command: y }\ntools:\n  p__t: { effect: read }\n  a__t: { effect: read }\n',
      'mcpServers:\n  b: { command: y }\ntools:\n  a__t: { effect: read }\n',
    ],
    [
      'no prefix',
      "mcpServers:\n  a: { command: x, prefix: '' }\n  b: { command: y }\nrules:\n  - allow: [go, '*', b__go]\n",
      "mcpServers:\n  b: { command: y }\nrules:\n  - allow: ['*', b__go]\n",
    ],
    [
      'a name that begins as another',
      'mcpServers:\n  a: { command: x }\n  a_: { command: y }\nrules:\n  - allow: a___t\n  - allow: a__t\n',
      'mcpServers:\n  a_: { command: y }\nrules:\n  - allow: a___t\n',
    ],
    [
      'an exception to its rule',
      'mcpServers:\n  a: { command: x }\n  b: { command: y }\nrules:\n  - name: ask\n    approve: a__t\n  - allow: b__t\n    insteadOf: ask\n  - allow: b__u\n    insteadOf: [other, ask]\n',
      'mcpServers:\n  b: { command: y }\nrules:\n  - allow: b__t\n  - allow: b__u\n    insteadOf: [other]\n',
    ],
  ])('works with %s', (_what, text, expected) => {
    expect(without(text, 'a')).toBe(expected);
  });

  it.each([
    ['an alias', 'mcpServers:\n  a: &x { command: x }\n  b: *x\n'],
    [
      'two sections in one line',
      '? mcpServers\n: { a: { command: x } }\nrules:\n  - - allow: a__t\n    - deny: b\n  - allow: a__t\n',
    ],
  ])('changes nothing where it cannot keep the rest: %s', (_what, text) => {
    const read = (() => {
      try {
        return parse(without(text, 'a'));
      } catch (error) {
        return (error as Error).message;
      }
    })();
    if (typeof read === 'string') expect(read).toMatch(/has a form that cannot be edited here|Unresolved alias/);
    else expect(read.mcpServers).not.toHaveProperty('a');
  });

  it('undoes what an addition did, beside any content', () => {
    const name = fc.stringMatching(/^[a-z]{1,6}$/).filter((one) => one !== 'added');
    const tools = fc.uniqueArray(
      fc.string({ minLength: 1, maxLength: 8 }).filter((one) => !one.includes('${')),
      { maxLength: 4 },
    );
    const others = fc.dictionary(name, fc.record({ command: fc.string() }), { minKeys: 1, maxKeys: 3 });
    fc.assert(
      fc.property(others, tools, tools, fc.constantFrom(2, 4), (mcpServers, allow, approve, indent) => {
        const [first = ''] = Object.keys(mcpServers);
        const content = {
          mcpServers,
          tools: { [`${first}__t`]: { effect: 'read' } },
          rules: [{ deny: { server: first } }],
        };
        const before = stringify(content, { indent });
        const effects = [...new Set([...allow, ...approve])].map((tool) => [`added__${tool}`, 'delete'] as const);
        const added = { name: 'added', server: { command: 'x', args: approve }, effects, rules: { allow, approve } };
        const after = without(withAdditions(before, [added]), 'added');
        const comment = `# ${commentOn('added')}`;
        expect(after.split('\n').filter((line) => line.trim() !== comment)).toEqual(before.split('\n'));
      }),
    );
  });
});
