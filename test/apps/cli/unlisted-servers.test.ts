import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listed } from '../../../apps/cli/commands/lint/listed.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { startDescribedUpstream } from '../../support/described-upstream.ts';
import { systemTime } from '../../support/time.ts';
import { openUpstreams } from '../../support/upstreams.ts';
import { Desk } from './run.ts';

let desk!: Awaited<ReturnType<typeof startDescribedUpstream>>;
let empty!: Awaited<ReturnType<typeof startDescribedUpstream>>;
beforeAll(async () => {
  desk = await startDescribedUpstream([{ name: 'grow', inputSchema: { type: 'object' } }]);
  empty = await startDescribedUpstream([]);
});
afterAll(() => Promise.all([desk?.close(), empty?.close()]));

interface Finding {
  readonly severity: string;
  readonly rule: string;
  readonly about: string;
  readonly message: string;
}
async function lint(config: object) {
  const { code, out } = await new Desk(config).run(['lint', '--json']);
  return { code, findings: (JSON.parse(out) as { findings: Finding[] }).findings };
}
const away = { url: 'http://127.0.0.1:1/mcp' };

describe('lint, about a server that cannot be used', () => {
  it('says why, and nothing about settings and rules that may be about its tools', async () => {
    const { code, findings } = await lint({
      mcpServers: { desk: { url: desk.url }, away },
      tools: { away__go: { effect: 'write' }, desk__gone: { effect: 'read' } },
      rules: [
        { allow: { server: 'away', tool: ['go', 'look'] } },
        { deny: { tool: 'away__go', caller: { subject: 'eve' } } },
        { approve: { server: 'desk' } },
        { deny: 'nowhere__go' },
      ],
    });
    expect(code).toBe(1);
    expect(findings.map(({ rule, about }) => [rule, about])).toEqual([
      ['no-tools', 'away'],
      ['no-such-tool', 'desk__gone'],
    ]);
    expect(findings[0]?.message).toMatch(
      /^away cannot be used: .*ECONNREFUSED.*nothing is said about settings and rules/,
    );
  });

  it('takes any name for one of its tools if it has no prefix', async () => {
    const { findings } = await lint({
      mcpServers: { desk: { url: desk.url }, away: { ...away, prefix: '' } },
      tools: { go: { effect: 'write' } },
      rules: [{ approve: ['desk__grow', 'go'] }],
    });
    expect(findings.map(({ rule, about }) => [rule, about])).toEqual([['no-tools', 'away']]);
  });
});

describe('lint, about a server that starts slowly', () => {
  it('waits for it, and not only as long as lists and calls of agents wait', async () => {
    const { mcpServers } = parseConfig({ mcpServers: { desk: { url: desk.url } } }, { baseDir: '/', stateDir: '/' });
    // Every start is longer than that.
    const limits = { ...systemTime.limits, upstreamWaitMs: 0 };
    const pool = openUpstreams({ desk: { url: desk.url } }, undefined, {}, { ...systemTime, limits });
    try {
      const { tools, unlisted } = await listed(pool, { mcpServers });
      expect([tools.map(({ name }) => name), unlisted.size]).toEqual([['desk__grow'], 0]);
    } finally {
      await pool.close();
    }
  });
});

describe('lint, about a server without tools', () => {
  it('warns of it, and compares its rules all the same', async () => {
    const { code, findings } = await lint({
      mcpServers: { empty: { url: empty.url } },
      rules: [{ allow: 'empty__go' }],
    });
    expect(findings.map(({ severity, rule, about }) => [severity, rule, about])).toEqual([
      ['warning', 'no-tools', 'empty'],
      ['warning', 'policy', expect.stringMatching(/^countersign\.yaml:/)],
    ]);
    expect(code).toBe(0);
  });
});
