import { describe, expect, it } from '@jest/globals';
import { hostContent } from '../../../apps/cli/commands/add/host-content.ts';

const NUMBERS = ['1133012345678901234', '12345678901234567890', '8080', '-5'];

describe('numbers in the file of a host', () => {
  it.each([...NUMBERS, '1.10', '1e3', '-0.0', 'true'])('stay as they are written in JSON: %s', (written) => {
    const server = `{ "command": "x", "args": ["a", ${written}], "env": { "ID": ${written} }, "timeout": 60 }`;
    const expected = { command: 'x', args: ['a', written], env: { ID: written }, timeout: 60 };
    for (const [text, path] of [
      [`{ "mcpServers": { "a": ${server} } }`, ['mcpServers', 'a']],
      [`{ // VS Code\n "servers": { "a": ${server}, }, }`, ['servers', 'a']],
      [`{ "mcp": { "servers": { "a": ${server} } } }`, ['mcp', 'servers', 'a']],
      [`{ "context_servers": { "a": ${server} } }`, ['context_servers', 'a']],
      [`{ "mcpServers": { "env": ${server} } }`, ['mcpServers', 'env']],
    ] as const) {
      const { content, problem } = hostContent('mcp.json', text);
      expect(problem).toBeUndefined();
      expect(path.reduce((at, name) => (at as never)[name], content)).toEqual(expected);
    }
  });

  it.each(NUMBERS)('stay as they are written in TOML: %s', (written) => {
    const text = `[mcp_servers.a]\ncommand = "x"\nargs = [${written}]\nstartup_timeout_ms = 60\n[mcp_servers.a.env]\nID = ${written}\n`;
    expect(hostContent('config.toml', text).content).toEqual({
      mcp_servers: { a: { command: 'x', args: [written], env: { ID: written }, startup_timeout_ms: 60 } },
    });
  });

  it.each([...NUMBERS, '0123', '1.10', '0x1F'])('stay as they are written in YAML: %s', (written) => {
    const text = `mcpServers:\n  a:\n    command: x\n    args: [${written}]\n    env:\n      ID: ${written}\n`;
    expect(hostContent('config.yaml', text).content).toEqual({
      mcpServers: { a: { command: 'x', args: [written], env: { ID: written } } },
    });
  });

  it('name the line of a fault, and quote nothing', () => {
    for (const [file, text] of [
      ['a.json', '{\n "mcpServers": { "a": "SECRET" '],
      ['a.yaml', 'a: 1\nb: "SECRET'],
      ['a.toml', 'a = "SECRET'],
    ] as const)
      expect(JSON.stringify(hostContent(file, text))).toMatch(/^(?!.*SECRET).*correct its syntax/);
  });
});
