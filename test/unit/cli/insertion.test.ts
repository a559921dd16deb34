import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { withAdditions } from '../../../apps/cli/configuration/additions.ts';
import { changedLines } from '../../../apps/cli/configuration/changed-lines.ts';
import { inserted } from '../../../apps/cli/configuration/insertion.ts';

const ONE = { section: 'mcpServers', entries: { b: { command: 'x', args: ['-y', 'two words'] } } };
const added = (text: string, insertion: Parameters<typeof inserted>[1] = ONE) => {
  const after = inserted(text, insertion);
  return { after, changes: changedLines(text, after) };
};

describe('an insertion into a YAML text', () => {
  it('adds after the last entry, and leaves comments, quotes, blanks and order alone', () => {
    const text = `# top
mode:   development   # aligned


mcpServers:
    a: { command: "y", args: [ 'one' ] } # the first

    # about to end
tools: {a__x: {effect: read}}
`;
    const { after, changes } = added(text);
    expect(changes).toEqual([
      '+     b:',
      '+         command: x',
      '+         args:',
      '+             - -y',
      '+             - two words',
    ]);
    expect(after).toContain('# the first\n    b:\n');
  });

  it.each([
    ['an empty map with a comment', 'mcpServers: {} # none yet\nhost: x\n', 'mcpServers: # none yet\n  b:\n'],
    ['an empty value', 'mcpServers:\nhost: x\n', 'mcpServers:\n  b:\n'],
    ['null', 'mcpServers: null\nhost: x\n', 'mcpServers:\n  b:\n'],
    ['no such section', 'host: x', 'host: x\n\nmcpServers:\n  b:\n'],
    ['an empty file', '', 'mcpServers:\n  b:\n'],
    ['comments only', '# nothing\n', '# nothing\n\nmcpServers:\n  b:\n'],
    ['braces', 'mcpServers: { a: { command: y } }\nhost: x\n', 'a: { command: y }, b: { command: x'],
    ['braces over lines', 'mcpServers: {\n  a: { command: y },\n}\n', 'a: { command: y }, b: { command: x'],
  ])('works with %s', (_what, text, expected) => {
    const { after } = added(text);
    expect(after).toContain(expected);
    expect(parse(after)).toEqual({ ...parse(text), mcpServers: { ...parse(text)?.mcpServers, ...ONE.entries } });
  });

  it.each([
    ['indented items', 'rules:\n  - deny: a\nhost: x\n', '+   - allow: b'],
    ['items at the margin', 'rules:\n- deny: a\nhost: x\n', '+ - allow: b'],
    ['an empty list', 'rules: []\nhost: x\n', '+   - allow: b'],
  ])('keeps the style of a list with %s', (_what, text, line) => {
    const { after, changes } = added(text, { section: 'rules', entries: [{ allow: 'b' }] });
    expect(changes).toContain(line);
    expect(parse(after).rules.at(-1)).toEqual({ allow: 'b' });
  });

  it.each([
    '{ "mcpServers": { "a": { "command": "y", "env": { "ID": 1133012345678901234, "Z": 0123 } } } }\n',
    '{"host":"x","mcpServers":{}}',
    '{"host":"x"}',
    '{}',
    '{\n  "mcpServers": {\n    "a": { "env": { "V": 1.10 } }\n  },\n  "host": "x"\n}\n',
  ])('leaves every character of JSON alone, numbers too: %s', (text) => {
    const { after } = added(text);
    let at = 0;
    for (const character of text) at = after.indexOf(character, at) + 1 || Number.NaN;
    expect(at).toBeGreaterThan(0);
    for (const [number] of text.matchAll(/: ?[\d.]+/g)) expect(after).toContain(number);
    expect(parse(after)).toEqual({ ...parse(text), mcpServers: { ...parse(text).mcpServers, ...ONE.entries } });
  });

  it('means the same as the text before with the entry, for any content', () => {
    const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false });
    const names = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(fc.dictionary(names, json), fc.boolean(), json, (servers, isFlow, value) => {
        const text = stringify(
          { host: 'x', mcpServers: servers, last: [1] },
          isFlow ? { collectionStyle: 'flow' } : {},
        );
        const insertion = { section: 'mcpServers', entries: { NEW: value } };
        fc.pre(Object.hasOwn(parse(text), 'mcpServers'));
        expect(parse(inserted(text, insertion))).toEqual({
          ...parse(text),
          mcpServers: { ...parse(text).mcpServers, NEW: value },
        });
      }),
    );
  });
});

describe('an addition to the configuration', () => {
  const addition = {
    name: 'files',
    server: { command: 'x' },
    effects: [['files__read', 'read'] as const, ['files__wipe', 'delete'] as const],
    rules: { allow: ['read'], approve: ['wipe', 'odd'] },
  };

  it('writes rules by names of tools, and asks hosts to confirm what destroys', () => {
    expect(parse(withAdditions('', [addition]))).toEqual({
      mcpServers: { files: { command: 'x' } },
      tools: { files__read: { effect: 'read' }, files__wipe: { effect: 'delete', requiresConfirmation: true } },
      rules: [
        { name: 'files reads', allow: { server: 'files', tool: ['read'] } },
        { name: 'files changes', approve: { server: 'files', tool: ['wipe', 'odd'] } },
      ],
    });
  });

  it('keeps what the operator said of a tool before', () => {
    const after = parse(withAdditions('tools:\n  files__read: { effect: external }\n', [addition]));
    expect(after.tools).toMatchObject({ files__read: { effect: 'external' }, files__wipe: { effect: 'delete' } });
  });

  it('uses the block of VS Code where the file has it', () => {
    expect(parse(withAdditions('servers:\n  a: { command: y }\n', [addition])).servers).toHaveProperty('files');
  });

  it('refuses a file whose meaning it would change', () => {
    expect(() => withAdditions('mcpServers: &all\n  a: { command: y }\nhost: *all\n', [addition])).toThrow(
      /cannot be edited/,
    );
  });
});
