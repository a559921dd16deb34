import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import type { ToolSettings } from '../../workflows/domain/tools/tool-facts.ts';
import { openUpstreams, untilFound } from '../support/upstreams.ts';

const crashing = new URL('./fixtures/crashing-server.mjs', import.meta.url).pathname;
const program = (...args: string[]) => ({ command: process.execPath, args: [crashing, ...args], env: {} });

let pool: UpstreamPool | undefined;
let lines: Record<string, unknown>[] = [];
afterEach(async () => {
  await pool?.close();
  lines = [];
});
const open = (servers: object, settings: Record<string, ToolSettings>) => {
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  return (pool = openUpstreams(servers, log, settings));
};

describe('the facts about a tool', () => {
  it('come from its upstream and the operator, by its public name', async () => {
    const upstreams = open(
      { crash: program() },
      { crash__pid: { requirements: ['env:a'], effect: 'read' }, pid: { requirements: ['env:b'] } },
    );
    await untilFound(upstreams, 'crash__pid');
    const facts = async (name: string) => (await upstreams.find(name))?.facts;
    expect(await facts('crash__pid')).toMatchObject({ requirements: ['env:a'], hints: { effect: 'read' } });
    expect(await facts('crash__odd')).toMatchObject({ requirements: [], hints: {} });
  });

  it('do not change the digest that binds a call to its tool', async () => {
    const digest = async (settings: Record<string, ToolSettings>) => {
      const upstreams = open({ crash: program() }, settings);
      await untilFound(upstreams, 'crash__pid');
      const found = await upstreams.find('crash__pid');
      await pool?.close();
      return found?.digest;
    };
    expect(await digest({ crash__pid: { effect: 'read' } })).toBe(await digest({}));
  });

  it('exclude a preprocessor that does more than read, with a log line [PRE-010]', async () => {
    const upstreams = open(
      { crash: program() },
      { crash__pid: { preprocessor: true }, crash__odd: { preprocessor: true, effect: 'read' } },
    );
    await untilFound(upstreams, 'crash__odd');
    const names = (await upstreams.tools()).map(({ name }) => name);
    expect(names).toContain('crash__odd');
    expect(names).not.toContain('crash__pid');
    expect(await upstreams.find('crash__pid')).toBeUndefined();
    const refused = { upstream: 'crash', name: 'crash__pid', reason: expect.stringMatching(/is a preprocessor/) };
    expect(upstreams.refused()).toEqual([refused]);
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, tool: 'crash__pid', reason: refused.reason }));
  });

  it.each(['request_access', 'get_request_status'])('are missing when it would replace our own %s', async (name) => {
    const upstreams = open({ plain: { ...program(name), prefix: '' }, prefixed: program(name) }, {});
    await untilFound(upstreams, 'pid', `prefixed__${name}`);
    const names = (await upstreams.tools()).map((tool) => tool.name);
    expect([names.includes(name), names.includes(`prefixed__${name}`)]).toEqual([false, true]);
    expect(upstreams.refused()).toEqual([{ upstream: 'plain', name, reason: expect.stringMatching(/own tools/) }]);
    expect(await upstreams.find(name)).toBeUndefined();
  });

  it('are missing when two upstreams have the tool', async () => {
    const upstreams = open({ a: program('_odd'), a_: program() }, {});
    await untilFound(upstreams, 'a___pid');
    expect((await upstreams.tools()).map(({ name }) => name)).toContain('a___pid');
    expect(upstreams.refused()).toMatchObject([
      { name: 'a___odd', reason: expect.stringMatching(/two upstream tools/) },
    ]);
    expect(await upstreams.find('a___odd')).toBeUndefined();
  });
});
