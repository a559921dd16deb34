import { describe, expect, it } from '@jest/globals';
import { isHeldAnErrorFor, waitsFor } from '../../../apps/gateway/calls/host-waits.ts';

describe('the wait of a client', () => {
  it.each([
    ['claude-code', 240],
    ['Claude Code (via mcp-remote 0.1.37)', 240],
    ['gemini-cli-mcp-client', 240],
    ['qwen-cli-mcp-client-files', 240],
    ['claude-ai', 200],
    ['claude_desktop', 200],
    ['copilot-cli', 170],
    ['codex-mcp-client', 50],
    ['codex', 50],
    ['@langchain/mcp-adapters', 45],
    ['Java SDK MCP Client', 15],
  ])('is that of its host, for the call and for its status: %s', (name, seconds) => {
    expect(waitsFor(name, {})).toEqual({ call: seconds, status: seconds });
  });

  it.each([
    // It begins with the letters of a name, and is another word.
    ['codex2'],
    ['my-claude-code'],
    ['mcp'],
    ['agno'],
    [''],
    ['☃'],
    ['a'.repeat(1_000_000)],
    [undefined],
  ])('is short for the call of a client that is not known to wait longer, and long for its status: %s', (name) => {
    const { call, status } = waitsFor(name, {});
    // Some give up after five seconds.
    expect([call < 5, call > 0, status]).toEqual([true, true, 45]);
  });

  it('is that of the operator for all clients', () => {
    expect([waitsFor('claude-code', 7), waitsFor(undefined, 0)]).toEqual([
      { call: 7, status: 7 },
      { call: 0, status: 0 },
    ]);
  });

  it('is that of the operator for a name, before the table; and for others, after it', () => {
    const settings = { 'Claude Code': 100, 'codex-mcp-client': 0, codex: 20, default: 30 };
    const of = (name: string) => waitsFor(name, settings).call;
    expect(['claude-code', 'claude-ai', 'codex-mcp-client', 'codex-exec', 'other'].map(of)).toEqual([
      100, 200, 0, 20, 30,
    ]);
  });
});

describe('a call that is still held is an error', () => {
  it.each([
    ['mcp', {}, false],
    ['MCP', {}, false],
    ['mcp-use', {}, true],
    ['claude-code', {}, true],
    [undefined, {}, true],
    ['mcp', true, true],
    ['claude-code', false, false],
    ['mcp', { mcp: true, default: false }, true],
    ['other', { mcp: true, default: false }, false],
  ] as const)('for the client %s with the setting %j: %s', (name, settings, isError) => {
    expect(isHeldAnErrorFor(name, settings)).toBe(isError);
  });
});
