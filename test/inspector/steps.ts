import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Stack } from '../support/stack.ts';
import { patiently } from '../support/wait-for.ts';
import type { Ask, Era, Said } from './inspector.ts';

export interface Scene {
  readonly era: Era;
  readonly ask: Ask;
  readonly stack: Stack;
}

/** One task that the Inspector must be able to do. It throws when the answer is wrong. */
export interface Step {
  readonly name: string;
  /** Undefined: it is the same in both. */
  readonly era?: Era;
  run(scene: Scene): Promise<void>;
}

const REVISIONS = { legacy: '2025-11-25', modern: '2026-07-28' } as const;
const PROMPT = 'everything__simple-prompt';
const DOCUMENT = 'demo://resource/static/document/features.md';
/** Its exit codes. */
const DONE = 0;
const FAILED = 1;
const TOOL_ERROR = 5;

const callOf = (name: string, args: object) => ['--tool-name', name, '--tool-args-json', JSON.stringify(args)];
const fileOf = ({ stack, era }: Scene, name: string) => join(stack.files, `${era}-${name}`);
const write = (path: string) => callOf('files__write_file', { path, content: path });
const countWrites = (stack: Stack, path: string) =>
  stack.upstreamCalls().filter((call) => call.arguments['path'] === path).length;

const wordsOf = ({ result }: Said) =>
  ((result?.['content'] ?? []) as { text?: string }[]).map(({ text }) => text ?? '').join('\n');
const nextStepOf = ({ result }: Said) =>
  ((result?.['_meta'] ?? {}) as Record<string, { tool?: string; statusTool?: string; arguments?: object }>)[
    'dev.countersign/next-step'
  ];

function expectEnd(said: Said, exitCode: number, words = /./): void {
  assert.equal(said.exitCode, exitCode, said.text);
  assert.match(wordsOf(said), words);
}

/** The names, or the addresses, of the members of a list. */
function membersOf({ exitCode, result, text }: Said, list: string, name: string): unknown[] {
  assert.equal(exitCode, DONE, text);
  return (result?.[list] as Record<string, unknown>[]).map((member) => member[name]);
}

function expectMembers(members: unknown[], expected: readonly string[]): void {
  for (const one of expected) assert.ok(members.includes(one), `${one} is not listed: ${members.join(' ')}`);
}

async function decide({ stack }: Scene, verdict: 'approve' | 'deny'): Promise<void> {
  const [request] = await stack.openRequests(1);
  assert.equal((await stack.decide(request, { verdict })).status, 200);
}

/** Makes a call that the Inspector itself follows to its end, and decides on it meanwhile. */
async function heldCall(scene: Scene, path: string, verdict: 'approve' | 'deny'): Promise<Said> {
  const ended = scene.ask('tools/call', ...write(path));
  await decide(scene, verdict);
  return ended;
}

async function getByPlainTools(scene: Scene): Promise<void> {
  const { ask, stack } = scene;
  const path = fileOf(scene, 'by-plain-tools');
  const wanted = { tool: 'files__write_file', arguments: { path, content: path } };
  const requested = await ask('tools/call', ...callOf('request_access', wanted));
  expectEnd(requested, DONE, /has not run/);
  const { tool = '', arguments: reference = {} } = nextStepOf(requested) ?? {};
  const look = () => ask('tools/call', ...callOf(tool, reference));
  expectEnd(await look(), DONE, /has not run/);
  assert.equal(countWrites(stack, path), 0);
  await decide(scene, 'approve');
  const ended = await patiently(async () => {
    const said = await look();
    return nextStepOf(said) === undefined ? said : undefined;
  });
  expectEnd(ended, DONE, /Successfully wrote[^]*The tool ran once/);
  assert.equal(countWrites(stack, path), 1);
}

const READS: readonly Step[] = [
  {
    name: 'initialize: agrees on the revision, and reads its lists',
    async run({ ask, era }) {
      const { exitCode, result, text } = await ask('initialize');
      assert.equal(exitCode, DONE, text);
      assert.equal(result?.['protocolVersion'], REVISIONS[era]);
      assert.match(String(result?.['instructions']), era === 'legacy' ? /^(?!.*tasks).*request_access/ : /tasks\/get/);
    },
  },
  {
    name: 'tools/list: lists the tools of upstreams and our own, without complaints about the schemas of ours',
    async run({ ask }) {
      const said = await ask('tools/list', '--strict');
      const expected = ['files__write_file', 'everything__echo', 'request_access', 'get_request_status'];
      expectMembers(membersOf(said, 'tools', 'name'), expected);
      assert.doesNotMatch(said.text, /tool "(request_access|get_request_status)"/);
    },
  },
  {
    name: 'prompts/list and prompts/get',
    async run({ ask }) {
      expectMembers(membersOf(await ask('prompts/list'), 'prompts', 'name'), [PROMPT]);
      membersOf(await ask('prompts/get', '--prompt-name', PROMPT), 'messages', 'role');
    },
  },
  {
    name: 'resources/list and resources/read',
    async run({ ask }) {
      expectMembers(membersOf(await ask('resources/list'), 'resources', 'uri'), [DOCUMENT]);
      expectMembers(membersOf(await ask('resources/read', '--uri', DOCUMENT), 'contents', 'uri'), [DOCUMENT]);
    },
  },
  {
    name: 'resources/templates/list',
    async run({ ask }) {
      const templates = membersOf(await ask('resources/templates/list'), 'resourceTemplates', 'uriTemplate');
      assert.notEqual(templates.length, 0);
    },
  },
  {
    name: 'resources/read: an unknown address is an error in words',
    async run({ ask }) {
      const { exitCode, error, text } = await ask('resources/read', '--uri', 'nowhere://at.all');
      assert.equal(exitCode, FAILED, text);
      assert.match(error?.message ?? '', /Unknown resource/);
    },
  },
];

const CALLS: readonly Step[] = [
  {
    name: 'tools/call: an allowed call has its result',
    async run(scene) {
      const path = fileOf(scene, 'read');
      writeFileSync(path, 'Grüße');
      expectEnd(await scene.ask('tools/call', ...callOf('files__read_text_file', { path })), DONE, /^Grüße$/);
    },
  },
  {
    name: 'tools/call: a call that policy refuses is an error of the tool',
    async run({ ask }) {
      const said = await ask('tools/call', ...callOf('files__move_file', { source: '/a', destination: '/b' }));
      expectEnd(said, TOOL_ERROR, /did not run.*no approval can change that/);
    },
  },
  {
    name: 'tools/call: a call that needs an approval names the next step, and nothing runs',
    era: 'legacy',
    async run(scene) {
      const path = fileOf(scene, 'held');
      const said = await scene.ask('tools/call', ...write(path));
      expectEnd(said, TOOL_ERROR, /did not run.*request_access/);
      assert.deepEqual(
        [nextStepOf(said)?.tool, nextStepOf(said)?.statusTool],
        ['request_access', 'get_request_status'],
      );
      await scene.stack.openRequests(0);
      assert.equal(countWrites(scene.stack, path), 0);
    },
  },
  {
    name: 'tools/call: a call that needs an approval is a task, and has its result once it is approved',
    era: 'modern',
    async run(scene) {
      const path = fileOf(scene, 'approved');
      expectEnd(await heldCall(scene, path, 'approve'), DONE, /Successfully wrote[^]*The tool ran once/);
      assert.equal(countWrites(scene.stack, path), 1);
    },
  },
  {
    name: 'tools/call: a task that an approver refuses says that the tool did not run',
    era: 'modern',
    async run(scene) {
      const path = fileOf(scene, 'refused');
      expectEnd(await heldCall(scene, path, 'deny'), TOOL_ERROR, /did not run/);
      assert.equal(countWrites(scene.stack, path), 0);
    },
  },
  { name: 'request_access and get_request_status: from the request to the result', run: getByPlainTools },
];

/** All steps, in order. */
export const STEPS: readonly Step[] = [...READS, ...CALLS];
