import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import type { Sent } from './gateway-wire.ts';
import { heldCalls } from './held-calls.ts';
import { LiveSettings, type Raw } from './live-settings.ts';
import { startStack, type Stack } from './stack.ts';
import { ownFolder } from './test-run.ts';
import { waitFor } from './wait-for.ts';

/** Allowed by both configurations, each by its own effect and rule. */
export const ALWAYS = 'files__list_allowed_directories';
/** Allowed by both, at a server that each configuration starts anew. */
const TURNING = 'turning__list_allowed_directories';
/** The same, at a server that can keep calls back. */
const SLOW = 'slow__list_allowed_directories';
/** Refused by both configurations. The rules of one with the effect of the other would allow it. */
const NEVER = 'files__list_directory';
/** Refused by both: one has no rule for it, and the other demands a scope that no token has. */
const UNSCOPED = 'files__get_file_info';
const WRITE = 'files__write_file';

/** One of two configurations, or what comes after them. */
export interface Variant {
  readonly prefix: string;
  readonly effect: 'read' | 'write';
  readonly scopes: readonly string[];
  readonly rules?: readonly object[];
}
export const A: Variant = { prefix: 'fa', effect: 'read', scopes: [] };
export const B: Variant = { prefix: 'fb', effect: 'write', scopes: ['of-other-callers'] };
const other = (effect: string) => (effect === 'read' ? 'write' : 'read');
const ASK = { approve: { server: 'files', tool: 'write_file' }, by: { roles: 'approver' }, name: 'ask' };
/** Decides calls that wait since before, by the first word of their path. */
const JUDGING: Variant = {
  ...B,
  rules: [
    { ...ASK, approve: { ...ASK.approve, where: { path: { like: '*/kept-*' } } } },
    { allow: { server: 'files', tool: 'write_file', where: { path: { like: '*/freed-*' } } } },
    { deny: { server: 'files', tool: 'write_file', where: { path: { like: '*/refused-*' } } } },
  ],
};
const OUTCOMES = {
  kept: ['approved-executed', 1],
  freed: ['approved-executed', 1],
  refused: ['denied-not-executed', 0],
} as const;

/** How many calls are on their way while the configuration changes. */
export interface Amount {
  /** Calls that an upstream keeps back, which is replaced meanwhile. */
  readonly slow: number;
  /** Calls that wait for an approval, for each outcome. */
  readonly held: number;
  /** Clients that make each kind of call that is decided at once, and the fewest calls of each kind. */
  readonly clients: number;
  readonly atLeast: number;
  /** The longest pause of such a client, in ms. */
  readonly everyMs: number;
}

export const wasGiven = ({ body }: Sent) => body.result !== undefined && body.result['isError'] !== true;
const wasRefused = (sent: Sent) => sent.status === 403 || (sent.status === 200 && !wasGiven(sent));

/** Repeats a call until it is told to stop. Answers what was not expected. */
function keepCalling(make: () => Promise<Sent>, isRight: (sent: Sent) => boolean, amount: Amount) {
  let isOver = false;
  const wrong: unknown[] = [];
  let count = 0;
  const call = async () => {
    const sent = await make();
    count += 1;
    if (!isRight(sent)) wrong.push(sent.body, sent.status);
    return isOver && count >= amount.atLeast;
  };
  const done = Promise.all(Array.from({ length: amount.clients }, () => waitFor(call, amount)));
  return async () => {
    isOver = true;
    await done;
    return wrong;
  };
}

/** The product in a process of its own, whose configuration file changes between two whole configurations. */
export class LiveProduct {
  stack!: Stack;
  settings!: LiveSettings;
  readonly #slowJournal = ownFolder('slow-upstream-');
  /** What the servers that come and go offer. They are small, since each configuration starts others. */
  readonly #toolsFile = join(ownFolder('turning-upstreams-'), 'tools.json');

  async start(): Promise<void> {
    const tool = { name: 'list_allowed_directories', inputSchema: { type: 'object' } };
    writeFileSync(this.#toolsFile, JSON.stringify([tool]));
    const config = { pdp: { policies: undefined } };
    this.stack = await startStack({ parts: 'together', servers: 'shared', config });
    this.settings = new LiveSettings(this.stack);
    await this.settings.apply(this.withVariant(A));
  }

  async stop(): Promise<void> {
    rmSync(join(this.#slowJournal, 'hold'), { force: true });
    await this.stack?.stop();
  }

  withVariant({ prefix, effect, scopes, rules = [ASK] }: Variant) {
    const server = [packagePath('test', 'clients', 'fixtures', 'described-server.mjs'), this.#toolsFile];
    const recorder = packagePath('test', 'support', 'recording-upstream.mjs');
    const program = { command: process.execPath };
    return ({ mcpServers }: Raw) => ({
      mcpServers: {
        ...mcpServers,
        named: { ...program, prefix, args: server },
        // Other processes for each configuration.
        turning: { ...program, args: server, env: { OF: prefix } },
        slow: { ...program, args: [recorder, this.#slowJournal, ...server], env: { OF: prefix } },
      },
      tools: { [ALWAYS]: { effect }, [NEVER]: { effect }, [UNSCOPED]: { scopes } },
      rules: [
        { allow: { tool: ALWAYS, effect } },
        { allow: { tool: NEVER, effect: other(effect) } },
        ...(scopes.length > 0 ? [{ allow: { tool: UNSCOPED } }] : []),
        { allow: { server: ['named', 'slow', 'turning'] } },
        ...rules,
      ],
    });
  }

  async call(name: string, args: object = {}): Promise<Sent> {
    return this.stack.rpc(await this.stack.token('agent'), 'tools/call', { name, arguments: args });
  }

  /** Does not repeat the call if the answer says so. */
  async #callOnce(name: string): Promise<Sent> {
    return this.stack.rpcOnce(await this.stack.token('agent'), 'tools/call', { name, arguments: {} });
  }

  /** What a list of tools tells of the configuration that it was made by. */
  async variantsInList(): Promise<{ variants: string[]; sent: Sent }> {
    const sent = await this.stack.rpc(await this.stack.token('agent'), 'tools/list', {});
    const tools = (sent.body.result?.['tools'] ?? []) as { name: string; annotations?: { readOnlyHint?: boolean } }[];
    const byPrefix = tools.flatMap(({ name }) => /^(fa|fb)__/.exec(name)?.[1] ?? []);
    const always = tools.find(({ name }) => name === ALWAYS);
    const byEffect = always === undefined ? [] : [always.annotations?.readOnlyHint === true ? 'fa' : 'fb'];
    return { variants: [...new Set([...byPrefix, ...byEffect])], sent };
  }

  /** Expects that each call on its way is decided by one whole configuration, and that none is lost. */
  async expectWholeDecisions(amount: Amount): Promise<void> {
    for (const name of [SLOW, 'fa__list_allowed_directories', TURNING])
      await waitFor(async () => wasGiven(await this.call(name)));
    const slow = await this.#keptBack(amount.slow);
    const held = await this.#held(amount.held);
    const { names, over } = this.#decidedAtOnce(amount);
    await this.settings.apply(this.withVariant(B));
    await this.settings.apply(this.withVariant(JUDGING));
    expect(await over()).toEqual([[], [], [], [], []]);
    expect(names.filter((variants) => variants.length > 1)).toEqual([]);
    expect(new Set(names.flat())).toEqual(new Set(['fa', 'fb']));
    const reached = new Set(this.stack.upstreamCalls().map(({ name }) => name));
    expect([reached.has('list_directory'), reached.has('get_file_info')]).toEqual([false, false]);

    // The upstream of before answers what it got, though another has taken its place.
    rmSync(join(this.#slowJournal, 'hold'));
    expect((await Promise.all(slow)).filter((sent) => !wasGiven(sent)).map(({ body }) => body)).toEqual([]);
    expect(wasGiven(await this.call(SLOW))).toBe(true);
    await this.#expectOutcomes(held);
  }

  async #keptBack(count: number): Promise<Promise<Sent>[]> {
    const noted = () => readFileSync(join(this.#slowJournal, 'calls.jsonl'), 'utf8').trim().split('\n').length;
    const before = noted();
    appendFileSync(join(this.#slowJournal, 'hold'), '');
    const slow = Array.from({ length: count }, () => this.call(SLOW));
    await waitFor(() => noted() === before + count);
    return slow;
  }

  async #held(count: number) {
    const outcomes = Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[];
    const calls = outcomes.flatMap((outcome) =>
      Array.from({ length: count }, async () => {
        const path = join(this.stack.files, `${outcome}-${randomUUID()}.txt`);
        const { body } = await this.call(WRITE, { path, content: outcome });
        return { outcome, path, taskId: String(body.result?.['taskId']), body };
      }),
    );
    const held = await Promise.all(calls);
    expect(held.filter(({ taskId }) => !taskId.startsWith('tsk_')).map(({ body }) => body)).toEqual([]);
    return held;
  }

  /** Calls that are made all the time, and what their lists tell. `over` ends them, and answers what was wrong. */
  #decidedAtOnce(amount: Amount) {
    const names: string[][] = [];
    const list = async () => {
      const { variants, sent } = await this.variantsInList();
      names.push(variants);
      return sent;
    };
    const path = this.stack.files;
    const streams = [
      keepCalling(() => this.#callOnce(ALWAYS), wasGiven, amount),
      keepCalling(() => this.#callOnce(TURNING), wasGiven, amount),
      keepCalling(() => this.call(NEVER, { path }), wasRefused, amount),
      keepCalling(() => this.call(UNSCOPED, { path }), wasRefused, amount),
      keepCalling(list, wasGiven, amount),
    ];
    return { names, over: () => Promise.all(streams.map((stop) => stop())) };
  }

  async #expectOutcomes(held: { outcome: keyof typeof OUTCOMES; path: string; taskId: string }[]): Promise<void> {
    const { approve, end, writes } = heldCalls(() => this.stack);
    for (const request of await this.stack.openRequests(held.length)) await approve(request);
    const outcomes = await Promise.all(
      held.map(async ({ outcome, path, taskId }) => [outcome, (await end(taskId)).disposition, writes(path)]),
    );
    expect(outcomes).toEqual(held.map(({ outcome }) => [outcome, ...OUTCOMES[outcome]]));
  }
}
