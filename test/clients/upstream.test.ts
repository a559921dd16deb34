import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { UpstreamPool } from '../../activities/clients/upstream/pool.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { testRunFolder } from '../support/test-run.ts';
import { openUpstreams, untilFound } from '../support/upstreams.ts';
import { waitFor } from '../support/wait-for.ts';

const SERVERS = new URL('../../node_modules/@modelcontextprotocol/', import.meta.url).pathname;
const EVERYTHING = `${SERVERS}server-everything/dist/index.js`;
const crashing = new URL('./fixtures/crashing-server.mjs', import.meta.url).pathname;
const program = (...args: string[]) => ({ command: process.execPath, args });
const never = () => new AbortController().signal;

let pool: UpstreamPool | undefined;
afterEach(async () => {
  await pool?.close();
  pool = undefined;
});
const open = (servers: object) => (pool = openUpstreams(servers));

describe('upstreams over standard input and output', () => {
  const folder = realpathSync(mkdtempSync(join(testRunFolder(), 'upstream-')));
  writeFileSync(join(folder, 'note.txt'), 'seven');
  const filesystem = program(`${SERVERS}server-filesystem/dist/index.js`, folder);

  it('join the tools of all servers under their prefixes, with every member', async () => {
    const upstreams = open({ fs: filesystem, crash: program(crashing) });
    await untilFound(upstreams, 'fs__read_text_file', 'crash__pid');
    const names = (await upstreams.tools()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['fs__read_text_file', 'crash__pid', 'crash__odd']));
    const tool = await upstreams.find('fs__read_text_file');
    expect(tool).toMatchObject({ upstream: 'fs', upstreamName: 'read_text_file' });
    expect(tool?.digest).toMatch(/^sha-256:[0-9a-f]{64}$/);
    expect(tool?.definition).toMatchObject({ name: 'read_text_file', inputSchema: { type: 'object' } });
    expect(await upstreams.find('fs__no_such_tool')).toBeUndefined();
    expect(await upstreams.find('unknown__echo')).toBeUndefined();
  });

  it('pass on results, and tool errors as results', async () => {
    const upstreams = open({ fs: filesystem });
    const read = (path: string) =>
      upstreams.call({ upstream: 'fs', upstreamTool: 'read_text_file', arguments: { path } }, { signal: never() });
    expect(await read(join(folder, 'note.txt'))).toMatchObject({
      kind: 'result',
      isError: false,
      result: { content: [{ type: 'text', text: 'seven' }] },
    });
    expect(await read('/etc/hostname')).toMatchObject({ kind: 'result', isError: true });
  });

  it('answer not_sent for a call that is aborted before it was sent', async () => {
    const upstreams = open({ crash: program(crashing) });
    const call = { upstream: 'crash', upstreamTool: 'pid', arguments: {} };
    expect(await upstreams.call(call, { signal: AbortSignal.abort() })).toMatchObject({ kind: 'not_sent' });
  });

  it('answer no_answer for a call that was sent and aborted', async () => {
    const upstreams = open({ crash: program(crashing) });
    await untilFound(upstreams, 'crash__hang');
    const call = { upstream: 'crash', upstreamTool: 'hang', arguments: {} };
    expect(await upstreams.call(call, { signal: AbortSignal.timeout(200) })).toMatchObject({ kind: 'no_answer' });
  });

  it('answer error when the server answers with a JSON-RPC error', async () => {
    const upstreams = open({ crash: program(crashing) });
    const call = { upstream: 'crash', upstreamTool: 'refuse', arguments: {} };
    expect(await upstreams.call(call, { signal: never() })).toEqual({
      kind: 'error',
      code: -32_099,
      message: 'not today',
    });
  });

  it('keep unknown members, and drop the name that the upstream gives itself', async () => {
    const upstreams = open({ crash: program(crashing) });
    const call = { upstream: 'crash', upstreamTool: 'odd', arguments: {} };
    expect(await upstreams.call(call, { signal: never() })).toEqual({
      kind: 'result',
      isError: false,
      result: {
        content: [{ type: 'hologram', depth: 3 }],
        beyond: true,
        _meta: { 'com.example/kept': 1 },
      },
    });
  });

  it('answer no_answer when the server dies during a call, omit its tools, and start it again', async () => {
    const upstreams = open({ crash: program(crashing) });
    await untilFound(upstreams, 'crash__die');
    const before = await upstreams.find('crash__die');
    const call = { upstream: 'crash', upstreamTool: 'die', arguments: {} };
    expect(await upstreams.call(call, { signal: never() })).toMatchObject({ kind: 'no_answer' });
    expect(await upstreams.find('crash__die')).toEqual(before);
    const pid = async () => {
      const answer = await upstreams.call(
        { upstream: 'crash', upstreamTool: 'pid', arguments: {} },
        { signal: never() },
      );
      return answer.kind === 'result' ? JSON.stringify(answer.result) : undefined;
    };
    expect(await waitFor(pid)).toContain('text');
    expect((await upstreams.tools()).map(({ name }) => name)).toContain('crash__die');
  });

  it('send a call once when its answer is lost, even if the tool is declared idempotent [HINT-011]', async () => {
    const folder = mkdtempSync(join(testRunFolder(), 'died-'));
    const crash = { ...program(crashing), env: { NOTE_CALLS_IN: join(folder, 'calls') } };
    const settings = { crash__die: { idempotent: true, effect: 'read' } };
    const upstreams = (pool = openUpstreams({ crash }, undefined, settings));
    await untilFound(upstreams, 'crash__die');
    expect((await upstreams.find('crash__die'))?.facts.hints.idempotent).toBe(true);
    const call = (upstreamTool: string) =>
      upstreams.call({ upstream: 'crash', upstreamTool, arguments: {} }, { signal: never() });
    expect(await call('die')).toMatchObject({ kind: 'no_answer' });
    await waitFor(async () => (await call('pid')).kind === 'result');
    expect(readFileSync(join(folder, 'calls'), 'utf8').match(/die/g)).toHaveLength(1);
  });

  it('read the tools again when the server says that they changed', async () => {
    const upstreams = open({ crash: program(crashing) });
    await untilFound(upstreams, 'crash__odd');
    const before = await upstreams.find('crash__odd');
    let changes = 0;
    upstreams.onChange((what) => void (changes += what === 'tools' ? 1 : 0));
    await upstreams.call({ upstream: 'crash', upstreamTool: 'change', arguments: {} }, { signal: never() });
    await waitFor(() => changes > 0);
    const after = await upstreams.find('crash__odd');
    expect(after?.digest).not.toBe(before?.digest);
    expect(after?.definition).toMatchObject({ description: 'changed' });
  });
});

describe('upstreams that do not answer', () => {
  it('cannot be called, and list no tools', async () => {
    const upstreams = open({ gone: program('/no/such/file.mjs'), web: { url: 'http://127.0.0.1:9/mcp' } });
    expect(await upstreams.tools()).toEqual([]);
    for (const upstream of ['gone', 'web', 'unheard_of']) {
      const call = { upstream, upstreamTool: 'x', arguments: {} };
      expect(await upstreams.call(call, { signal: never() })).toMatchObject({ kind: 'not_sent' });
    }
    await expect(upstreams.find('gone__x', { live: true })).rejects.toMatchObject({ code: 'ERR_UPSTREAM_UNAVAILABLE' });
    await expect(upstreams.find('gone__x')).rejects.toMatchObject({ code: 'ERR_UPSTREAM_UNAVAILABLE' });
  });

  it('do not delay the tools of others', async () => {
    const upstreams = open({ gone: program('/no/such/file.mjs'), crash: program(crashing) });
    await untilFound(upstreams, 'crash__odd');
    expect((await upstreams.tools()).map(({ name }) => name)).toContain('crash__odd');
  });
});

describe('names of two tools', () => {
  it('are not offered', async () => {
    const upstreams = open({ a: program(crashing, '_odd'), a_: program(crashing) });
    await untilFound(upstreams, 'a___pid');
    const names = (await upstreams.tools()).map(({ name }) => name);
    expect(names).not.toContain('a___odd');
    expect(names).toContain('a___pid');
    expect(await upstreams.find('a___odd')).toBeUndefined();
  });

  it('are not offered without prefixes that tell the tools apart', async () => {
    const upstreams = open({
      a: { ...program(crashing), prefix: '' },
      b: { ...program(crashing, 'b__odd'), prefix: '' },
      c: { ...program(crashing), prefix: 'b' },
    });
    await untilFound(upstreams, 'b__pid');
    const names = (await upstreams.tools()).map(({ name }) => name);
    expect(names).toContain('b__pid');
    for (const name of ['pid', 'odd', 'b__odd']) expect(names).not.toContain(name);
  });
});

describe('prefixes', () => {
  it('are the configured ones, or empty', async () => {
    const upstreams = open({
      plain: { ...program(crashing), prefix: '' },
      crash: { ...program(crashing), prefix: 'other' },
    });
    await untilFound(upstreams, 'odd', 'other__odd');
    expect(await upstreams.find('odd')).toMatchObject({ name: 'odd', upstream: 'plain', upstreamName: 'odd' });
    expect(await upstreams.find('other__odd')).toMatchObject({ upstream: 'crash', upstreamName: 'odd' });
    expect(await upstreams.find('crash__odd')).toBeUndefined();
    const call = { upstream: 'plain', upstreamTool: 'pid', arguments: {} };
    expect(await upstreams.call(call, { signal: never() })).toMatchObject({ kind: 'result' });
  });
});

describe('upstreams over HTTP', () => {
  let port: number;
  let server: ChildProcess | undefined;
  const start = async () => {
    server = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
      env: { PATH: process.env['PATH'], PORT: String(port) },
      stdio: 'ignore',
    });
    await waitFor(() => fetch(`http://127.0.0.1:${port}/mcp`).catch(() => undefined));
  };
  const stop = async () => {
    const child = server;
    server = undefined;
    if (child === undefined) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  };
  beforeAll(async () => {
    port = await freePort();
    await start();
  });
  afterAll(stop);

  it('are called, reported missing, and connected again after a restart', async () => {
    const upstreams = open({ web: { url: `http://127.0.0.1:${port}/mcp` } });
    const call = { upstream: 'web', upstreamTool: 'get-sum', arguments: { a: 2, b: 3 } };
    /** When the machine stands still for seconds, the server closes the connection that the call is about to use. */
    const sumThatIs = (kind: 'result' | 'not_sent') =>
      waitFor(async () => {
        const answer = await upstreams.call(call, { signal: never() });
        return answer.kind === kind && answer;
      });
    await untilFound(upstreams, 'web__get-sum');
    expect((await upstreams.tools()).map(({ name }) => name)).toContain('web__get-sum');
    expect(await sumThatIs('result')).toMatchObject({ isError: false });
    await stop();
    await sumThatIs('not_sent');
    expect(await upstreams.tools()).toEqual([]);
    expect(await upstreams.find('web__get-sum')).toBeDefined();
    await start();
    expect(JSON.stringify(await sumThatIs('result'))).toContain('5');
  });
});
