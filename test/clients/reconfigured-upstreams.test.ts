import { afterEach, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { RECONFIGURED } from '../../workflows/domain/upstream-ports.ts';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { type Description, startChangingUpstream } from '../support/changing-upstream.ts';
import { openUpstreams, untilFound } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

const crashing = new URL('./fixtures/crashing-server.mjs', import.meta.url).pathname;
const program = (more: object = {}) => ({ command: process.execPath, args: [crashing], ...more });
const ITEMS = { prompt: 'Asks.', resource: 'A paper.', template: 'A drawer.' };
const PAYS: Description = { description: 'Pays.', properties: {}, annotations: {}, items: ITEMS };

interface More {
  readonly signal?: AbortSignal;
  readonly connection?: number;
}
type Upstream = Awaited<ReturnType<typeof startChangingUpstream>>;

let pool: UpstreamPool | undefined;
const started: Upstream[] = [];
afterEach(async () => {
  await pool?.close();
  for (const one of started.splice(0)) await one.close();
});

const open = (servers: object) => (pool = openUpstreams(servers));
const startBank = async (description = PAYS) => {
  const bank = await startChangingUpstream(description);
  started.push(bank);
  return bank;
};
function reconfigure(of: UpstreamPool, mcpServers: object, tools: object = {}): void {
  const next = parseConfig({ mcpServers, tools }, { baseDir: '/', stateDir: '/' });
  of.reconfigure(next.mcpServers, next.tools);
}
const never = () => new AbortController().signal;
const call = (of: UpstreamPool, upstream: string, upstreamTool: string, { signal = never(), ...more }: More = {}) =>
  of.call({ upstream, upstreamTool, arguments: {}, ...more }, { signal });
const pinned = (connection: number | undefined): More => (connection === undefined ? {} : { connection });
const pidOf = async (of: UpstreamPool, upstream: string) => {
  const answer = (await call(of, upstream, 'pid')) as { result?: { content?: { text: string }[] } };
  return Number(answer.result?.content?.[0]?.text);
};

describe('changed upstreams', () => {
  it('keep the connection of a server whose settings are the same, also under another prefix', async () => {
    const upstreams = open({ a: program(), b: program() });
    await untilFound(upstreams, 'a__pid', 'b__pid');
    const before = await pidOf(upstreams, 'a');
    reconfigure(upstreams, { c: program(), a: program({ prefix: 'z' }) });
    expect(await pidOf(upstreams, 'a')).toBe(before);
    await untilFound(upstreams, 'z__pid', 'c__pid');
    expect((await upstreams.tools()).map(({ upstream }) => upstream)).not.toContain('b');
    expect(await upstreams.find('a__pid')).toBeUndefined();
    expect(await upstreams.find('b__pid')).toBeUndefined();
    expect(await call(upstreams, 'b', 'pid')).toEqual({ kind: 'not_sent', cause: 'no such upstream' });
  });

  it('end a program that is gone or changed as soon as its last call has ended', async () => {
    const upstreams = open({ a: program() });
    await untilFound(upstreams, 'a__hang');
    const before = await pidOf(upstreams, 'a');
    const leave = new AbortController();
    const underWay = call(upstreams, 'a', 'hang', { signal: leave.signal });
    await waitFor(async () => {
      const told = (await call(upstreams, 'a', 'cancelled')) as { result?: { content?: { text: string }[] } };
      return told.result?.content?.[0]?.text.includes('"hung":1');
    });
    reconfigure(upstreams, { a: program({ env: { OTHER: 'yes' } }) });
    expect(await pidOf(upstreams, 'a')).not.toBe(before);
    expect(isAlive(before)).toBe(true);
    leave.abort();
    expect(await underWay).toMatchObject({ kind: 'no_answer' });
    await waitFor(() => !isAlive(before));
  });

  it('end at once with the pool, even if a call is under way', async () => {
    const upstreams = open({ a: program() });
    await untilFound(upstreams, 'a__hang');
    const before = await pidOf(upstreams, 'a');
    const underWay = call(upstreams, 'a', 'hang');
    reconfigure(upstreams, {});
    await upstreams.close();
    expect(await underWay).not.toMatchObject({ kind: 'result' });
    await waitFor(() => !isAlive(before));
  });

  it('answer the calls that were sent before, and get the calls that come after', async () => {
    const [old, other] = [await startBank(), await startBank()];
    const upstreams = open({ bank: { url: old.url } });
    await untilFound(upstreams, 'bank__pay');
    let answer = () => undefined as void;
    old.onCall = () => new Promise((resolve) => (answer = resolve));
    const underWay = call(upstreams, 'bank', 'pay');
    await waitFor(() => old.calls === 1);
    reconfigure(upstreams, { bank: { url: other.url } });
    expect(await call(upstreams, 'bank', 'pay')).toMatchObject({ kind: 'result', isError: false });
    answer();
    expect(await underWay).toMatchObject({ kind: 'result', isError: false });
    expect([old.calls, other.calls]).toEqual([1, 1]);
  });

  it('get a call that waited for the connection to the server of before', async () => {
    const [old, other] = [await startBank(), await startBank()];
    const upstreams = open({ bank: { url: old.url } });
    let list = () => undefined as void;
    old.onList = () => new Promise((resolve) => (list = resolve));
    const waiting = call(upstreams, 'bank', 'pay');
    await waitFor(() => old.lists > 0);
    reconfigure(upstreams, { bank: { url: other.url } });
    list();
    expect(await waiting).toMatchObject({ kind: 'result', isError: false });
    expect([old.calls, other.calls]).toEqual([0, 1]);
  });

  it.each([{ live: true }, {}])('are asked by a look-up that waited for the server of before: %j', async (options) => {
    const [old, other] = [await startBank(), await startBank({ ...PAYS, description: 'Pays twice.' })];
    const upstreams = open({ bank: { url: old.url } });
    let list = () => undefined as void;
    old.onList = () => new Promise((resolve) => (list = resolve));
    const tool = upstreams.find('bank__pay', options);
    const prompt = upstreams.items.find('prompt', 'bank__ask');
    await waitFor(() => old.lists > 0);
    reconfigure(upstreams, { bank: { url: other.url } });
    list();
    expect((await tool)?.definition).toMatchObject({ description: 'Pays twice.' });
    expect((await prompt)?.connection).toBe((await tool)?.connection);
  });

  it('do not get a call or a read that was decided on for the server of before', async () => {
    const [old, other] = [await startBank(), await startBank()];
    const upstreams = open({ bank: { url: old.url } });
    await untilFound(upstreams, 'bank__pay');
    const { connection } = (await upstreams.find('bank__pay')) ?? {};
    const prompt = await upstreams.items.find('prompt', 'bank__ask');
    expect(prompt).toMatchObject({ connection });
    reconfigure(upstreams, { bank: { url: other.url } });
    const notSent = { kind: 'not_sent', cause: RECONFIGURED };
    expect(await call(upstreams, 'bank', 'pay', pinned(connection))).toEqual(notSent);
    const read = { upstream: 'bank', method: 'prompts/get', params: { name: 'ask' } } as const;
    const caller = { issuer: 'https://id.example', subject: 'agent' };
    const asked = { ...read, caller, ...(prompt?.connection !== undefined && { connection: prompt.connection }) };
    expect(await upstreams.items.ask(asked, { signal: never() })).toEqual(notSent);
    expect([old.calls, other.calls, old.reads, other.reads]).toEqual([0, 0, 0, 0]);
    await untilFound(upstreams, 'bank__pay');
    const found = await upstreams.find('bank__pay');
    expect(found?.connection).not.toBe(connection);
    expect(await call(upstreams, 'bank', 'pay', pinned(found?.connection))).toMatchObject({ kind: 'result' });
  });

  it('tell listeners about each list, and show the items of the server of now', async () => {
    const old = await startBank();
    const other = await startBank({ ...PAYS, items: { ...ITEMS, prompt: 'Asks again.' } });
    const upstreams = open({ bank: { url: old.url } });
    await untilFound(upstreams, 'bank__pay');
    const described = async () => (await upstreams.items.find('prompt', 'bank__ask'))?.definition['description'];
    expect(await described()).toBe('Asks.');
    const told: string[] = [];
    upstreams.onChange((what) => told.push(what));
    reconfigure(upstreams, { bank: { url: other.url } });
    expect(told).toEqual(['tools', 'prompts', 'resources']);
    await waitFor(async () => (await described()) === 'Asks again.');
    reconfigure(upstreams, { bank: { url: other.url, prefix: 'teller' } });
    expect(await described()).toBeUndefined();
    expect(await upstreams.items.find('prompt', 'teller__ask')).toMatchObject({ name: 'teller__ask' });
  });

  it('have the settings of tools of now', async () => {
    const bank = await startBank();
    const upstreams = open({ bank: { url: bank.url } });
    await untilFound(upstreams, 'bank__pay');
    const { connection } = (await upstreams.find('bank__pay')) ?? {};
    const effect = async () => (await upstreams.find('bank__pay'))?.facts.hints.effect;
    expect(await effect()).toBeUndefined();
    reconfigure(upstreams, { bank: { url: bank.url } }, { bank__pay: { effect: 'write' } });
    expect(await effect()).toBe('write');
    reconfigure(upstreams, { bank: { url: bank.url } });
    expect(await effect()).toBeUndefined();
    expect((await upstreams.find('bank__pay'))?.connection).toBe(connection);
  });
});
