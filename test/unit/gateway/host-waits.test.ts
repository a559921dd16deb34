import { describe, expect, it } from '@jest/globals';
import { waitSecondsFor } from '../../../apps/gateway/calls/host-waits.ts';

describe('the wait of a client', () => {
  it.each([
    ['claude-code', 240],
    ['Claude Code (via mcp-remote 0.1.37)', 240],
    ['claude-ai', 200],
    ['claude_desktop', 200],
    ['codex-mcp-client', 50],
    ['codex', 50],
    ['Java SDK MCP Client', 15],
    // It begins with the letters of a name, and is another word.
    ['codex2', 45],
    ['my-claude-code', 45],
    ['', 45],
    ['☃', 45],
    ['a'.repeat(1_000_000), 45],
    [undefined, 45],
  ])('is that of its host: %s', (name, seconds) => {
    expect(waitSecondsFor(name, {})).toBe(seconds);
  });

  it('is that of the operator for all clients', () => {
    expect([waitSecondsFor('claude-code', 7), waitSecondsFor(undefined, 0)]).toEqual([7, 0]);
  });

  it('is that of the operator for a name, before the table; and for others, after it', () => {
    const settings = { 'Claude Code': 100, 'codex-mcp-client': 0, codex: 20, default: 30 };
    const of = (name: string) => waitSecondsFor(name, settings);
    expect(['claude-code', 'claude-ai', 'codex-mcp-client', 'codex-exec', 'other'].map(of)).toEqual([
      100, 200, 0, 20, 30,
    ]);
  });
});
