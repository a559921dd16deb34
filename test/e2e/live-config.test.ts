import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { requestPersonToken } from '../../apps/shared/auth/client-credentials.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { heldCalls } from '../support/held-calls.ts';
import { LiveSettings, type Raw } from '../support/live-settings.ts';
import { startStack, type Stack } from '../support/stack.ts';
import type { Sent } from '../support/gateway-wire.ts';
import { ownFolder } from '../support/test-run.ts';
import { waitFor } from '../support/wait-for.ts';

/** Allowed by both configurations, each by its own effect and rule. */
const ALWAYS = 'files__list_allowed_directories';
/** Allowed by both, at a server that each configuration starts anew. */
const TURNING = 'turning__list_allowed_directories';
/** Refused by both configurations. The rules of one with the effect of the other would allow it. */
const NEVER = 'files__list_directory';
/** Refused by both: one has no rule for it, and the other demands a scope that no token has. */
const UNSCOPED = 'files__get_file_info';
const WRITE = 'files__write_file';

let stack: Stack;
let settings: LiveSettings;
let slowJournal: string;

/** One of two configurations, or what comes after them. */
interface Variant {
  readonly prefix: string;
  readonly effect: 'read' | 'write';
  readonly scopes: readonly string[];
  readonly rules?: readonly object[];
}
const A: Variant = { prefix: 'fa', effect: 'read', scopes: [] };
const B: Variant = { prefix: 'fb', effect: 'write', scopes: ['of-other-callers'] };
/** The servers of one and the effects of the other. */
const MENDED: Variant = { ...B, effect: A.effect };
const other = (effect: string) => (effect === 'read' ? 'write' : 'read');
const ASK = { approve: { server: 'files', tool: 'write_file' }, by: { roles: 'approver' }, name: 'ask' };

const withVariant =
  ({ prefix, effect, scopes, rules = [ASK] }: Variant) =>
  ({ mcpServers }: Raw) => {
    const server = packagePath('node_modules', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js');
    const recorder = packagePath('test', 'support', 'recording-upstream.mjs');
    const program = { command: process.execPath };
    return {
      mcpServers: {
        ...mcpServers,
        named: { ...program, prefix, args: [server, stack.files] },
        // Other processes for each configuration.
        turning: { ...program, args: [server, stack.files], env: { OF: prefix } },
        slow: { ...program, args: [recorder, slowJournal, server, stack.files], env: { OF: prefix } },
      },
      tools: { [ALWAYS]: { effect }, [NEVER]: { effect }, [UNSCOPED]: { scopes } },
      rules: [
        { allow: { tool: ALWAYS, effect } },
        { allow: { tool: NEVER, effect: other(effect) } },
        ...(scopes.length > 0 ? [{ allow: { tool: UNSCOPED } }] : []),
        { allow: { server: ['named', 'slow', 'turning'] } },
        ...rules,
      ],
    };
  };

beforeAll(async () => {
  slowJournal = ownFolder('slow-upstream-');
  stack = await startStack({ parts: 'together', servers: 'shared', config: { pdp: { policies: undefined } } });
  settings = new LiveSettings(stack);
  await settings.apply(withVariant(A));
});
afterAll(async () => {
  rmSync(join(slowJournal, 'hold'), { force: true });
  await stack?.stop();
});

const call = async (name: string, args: object = {}) =>
  stack.rpc(await stack.token('agent'), 'tools/call', { name, arguments: args });
/** Does not repeat the call if the answer says so. */
const callOnce = async (name: string) =>
  stack.rpcOnce(await stack.token('agent'), 'tools/call', { name, arguments: {} });
const wasGiven = ({ body }: Sent) => body.result !== undefined && body.result['isError'] !== true;
const notedIn = (folder: string): unknown[] => {
  const file = join(folder, 'calls.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

/** Repeats a call until it is told to stop, at least twenty times. Answers what was not expected. */
function keepCalling(make: () => Promise<Sent>, isRight: (sent: Sent) => boolean) {
  let isOver = false;
  const wrong: unknown[] = [];
  let count = 0;
  const work = async () => {
    while (!isOver || count < 20) {
      const sent = await make();
      count += 1;
      if (!isRight(sent)) wrong.push(sent.body, sent.status);
    }
  };
  const done = Promise.all([work(), work()]);
  return async () => {
    isOver = true;
    await done;
    return wrong;
  };
}

/** What a list of tools tells of the configuration that it was made by. */
async function variantsInList(): Promise<{ variants: string[]; sent: Sent }> {
  const sent = await stack.rpc(await stack.token('agent'), 'tools/list', {});
  const tools = (sent.body.result?.['tools'] ?? []) as { name: string; annotations?: { readOnlyHint?: boolean } }[];
  const byPrefix = tools.flatMap(({ name }) => /^(fa|fb)__/.exec(name)?.[1] ?? []);
  const always = tools.find(({ name }) => name === ALWAYS);
  const byEffect = always === undefined ? [] : [always.annotations?.readOnlyHint === true ? 'fa' : 'fb'];
  return { variants: [...new Set([...byPrefix, ...byEffect])], sent };
}

it('decides 100 calls on their way each by one whole configuration, and loses none', async () => {
  const { approve, end, writes } = heldCalls(() => stack);
  await waitFor(async () => wasGiven(await call('slow__list_allowed_directories')));
  await waitFor(async () => wasGiven(await call('fa__list_allowed_directories')));

  await waitFor(async () => wasGiven(await call(TURNING)));

  // Twenty that wait in an upstream which is replaced meanwhile.
  const before = notedIn(slowJournal).length;
  appendFileSync(join(slowJournal, 'hold'), '');
  const slow = Array.from({ length: 20 }, () => call('slow__list_allowed_directories'));
  await waitFor(() => notedIn(slowJournal).length === before + 20);

  // Thirty that wait for an approval: ten for each of three outcomes.
  const held = await Promise.all(
    ['kept', 'freed', 'refused'].flatMap((outcome) =>
      Array.from({ length: 10 }, async () => {
        const path = join(stack.files, `${outcome}-${randomUUID()}.txt`);
        const { body } = await call(WRITE, { path, content: outcome });
        return { outcome, path, taskId: String(body.result?.['taskId']), body };
      }),
    ),
  );
  expect(held.filter(({ taskId }) => !taskId.startsWith('tsk_')).map(({ body }) => body)).toEqual([]);

  // And all the time, calls that are decided at once.
  const refused = (sent: Sent) => sent.status === 403 || (sent.status === 200 && !wasGiven(sent));
  const streams = [
    keepCalling(() => callOnce(ALWAYS), wasGiven),
    keepCalling(() => callOnce(TURNING), wasGiven),
    keepCalling(() => call(NEVER, { path: stack.files }), refused),
    keepCalling(() => call(UNSCOPED, { path: stack.files }), refused),
  ];
  const names: string[][] = [];
  const lists = keepCalling(
    async () => {
      const { variants, sent } = await variantsInList();
      names.push(variants);
      return sent;
    },
    (sent) => wasGiven(sent),
  );
  await settings.apply(withVariant(B));
  await settings.apply(
    withVariant({
      ...B,
      rules: [
        { ...ASK, approve: { ...ASK.approve, where: { path: { like: '*/kept-*' } } } },
        { allow: { server: 'files', tool: 'write_file', where: { path: { like: '*/freed-*' } } } },
        { deny: { server: 'files', tool: 'write_file', where: { path: { like: '*/refused-*' } } } },
      ],
    }),
  );
  const ended = await Promise.all([...streams, lists].map((stop) => stop()));
  expect(ended).toEqual([[], [], [], [], []]);
  expect(names.filter((variants) => variants.length > 1)).toEqual([]);
  expect(new Set(names.flat())).toEqual(new Set(['fa', 'fb']));
  const reached = new Set(stack.upstreamCalls().map(({ name }) => name));
  expect([reached.has('list_directory'), reached.has('get_file_info')]).toEqual([false, false]);

  // The upstream of before answers what it got, though another has taken its place.
  rmSync(join(slowJournal, 'hold'));
  expect((await Promise.all(slow)).filter((sent) => !wasGiven(sent)).map(({ body }) => body)).toEqual([]);
  expect(wasGiven(await call('slow__list_allowed_directories'))).toBe(true);

  for (const request of await stack.openRequests(30)) await approve(request);
  const outcomes = await Promise.all(
    held.map(async ({ outcome, path, taskId }) => [outcome, (await end(taskId)).disposition, writes(path)]),
  );
  const expected = {
    kept: ['approved-executed', 1],
    freed: ['approved-executed', 1],
    refused: ['denied-not-executed', 0],
  };
  expect(outcomes).toEqual(held.map(({ outcome }) => [outcome, ...expected[outcome as keyof typeof expected]]));
});

const doctor = () =>
  spawnSync(process.execPath, [packagePath('dist', 'apps', 'cli', 'main.js'), 'doctor'], {
    cwd: stack.folder,
    encoding: 'utf8',
    env: { ...process.env, COUNTERSIGN_STATE: stack.stateDir },
  }).stdout;

it('goes on with the configuration of before when the file cannot be used, and says why', async () => {
  const mistakes = Array.from({ length: 20 }, (_, index) => ({ alow: `tool-${index}` }));
  settings.write(settings.textWith((original) => ({ ...withVariant({ ...A, rules: mistakes })(original) })));
  const { problems = [] } = (await waitFor(() => settings.state()?.rejected)) ?? {};
  expect(problems).toHaveLength(20);
  const shown = stack.log('up');
  for (const problem of problems) expect(shown).toContain(problem);
  expect(shown.split('nothing of it is applied')).toHaveLength(2);
  expect(wasGiven(await call(ALWAYS))).toBe(true);
  expect((await variantsInList()).variants).toEqual(['fb']);
  const found = doctor();
  expect(found).toMatch(/fail {2}configuration +20 problems; .*goes on with its earlier configuration, .*since 20/);
  for (const problem of problems) expect(found.split('\n').map((line) => line.trim())).toContain(problem);

  // A file without a mistake, which the decision point cannot use.
  const nowhere = (original: Raw) => ({
    ...withVariant(B)(original),
    pdp: { ...original['pdp'], policies: './nowhere' },
  });
  settings.write(settings.textWith(nowhere));
  await waitFor(() => settings.state()?.rejected?.problems.some((problem) => problem.includes('no policy folder')));
  expect(doctor()).toMatch(/fail {2}settings in use .*refused since 20.*There is no policy folder .*nowhere/);
  expect((await variantsInList()).variants).toEqual(['fb']);

  await settings.apply(withVariant(MENDED));
  expect((await variantsInList()).variants).toEqual(['fb', 'fa']);
});

it('lets people of the development issuer come and go', async () => {
  const people = (more: readonly object[]) => (original: Raw) => ({
    ...withVariant(MENDED)(original),
    identity: { ...stack.config.identity, issuer: undefined, people: [...stack.config.identity.people, ...more] },
  });
  const tokenOfZoe = () =>
    requestPersonToken(stack.config, stack.development, { name: 'zoe', audience: 'approvals' }).then(
      ({ accessToken }) => accessToken,
    );
  await expect(tokenOfZoe()).rejects.toThrow('refuses zoe');
  await settings.apply(people([{ name: 'zoe', roles: ['approver'] }]));
  const headers = { authorization: `Bearer ${await tokenOfZoe()}` };
  expect((await fetch(`${stack.config.urls.approvals}/requests`, { headers })).status).toBe(200);
  await settings.apply(people([]));
  await expect(tokenOfZoe()).rejects.toThrow('refuses zoe');
});
