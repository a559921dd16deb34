/** What a stranger does in the first minute, one step after the other. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { confirmAs, connectAs, type Host, resultOf, toolsOf } from './people.ts';
import type { Command, Said, Terminal } from './terminal.ts';

export interface Scene {
  readonly terminal: Terminal;
  readonly browser: Browser;
  /** The package, as the stranger types it. */
  readonly tarball: string;
  /** The port on which the stranger's own server listens. */
  readonly port: number;
}

/** What one step leaves for the next ones. */
export interface Story {
  up?: Command;
  mcpUrl?: string;
  host?: Host;
}

export interface Step {
  /** A command line, or in words what the stranger does. */
  readonly does: string;
  /** Whether its time is part of the first minute. */
  readonly counts: boolean;
  /** Answers what the stranger reads. Throws if it is not what the stranger needs. */
  readonly run: (story: Story) => Promise<string>;
}

const FILES = '@modelcontextprotocol/server-filesystem';
const EVERYTHING = '@modelcontextprotocol/server-everything';
/** The rule that the stranger writes: one more than `add` proposes. */
const RULE = `  - name: sums are looked at
    approve: { server: everything, tool: get-sum }
    by: { requester: true }
`;

const both = ({ out, err }: Said): string => `${err}${out}`;

export function stepsIn(scene: Scene): readonly Step[] {
  return [...packages(scene), ...servers(scene), rule(scene), ...calls(scene), ...afterwards(scene)];
}

const countersign = ({ tarball }: Scene, ...args: string[]) => ['npx', '--yes', tarball, ...args].join(' ');

/** A step of one command that ends. */
function command(scene: Scene, does: string, counts: boolean): Step {
  return { does, counts, run: async () => both(await scene.terminal.run(does)) };
}

/** Has npx bring all packages. */
function packages(scene: Scene): Step[] {
  const bring = (name: string) => `npx --yes --package=${name} node --version`;
  return [countersign(scene, '--version'), bring(FILES), bring(EVERYTHING)].map((does) => command(scene, does, false));
}

function servers(scene: Scene): Step[] {
  const { terminal, port } = scene;
  const up = countersign(scene, 'up');
  const everything = `PORT=${port} npx --yes ${EVERYTHING} streamableHttp`;
  return [
    {
      ...{ does: up, counts: true },
      async run(story) {
        story.up = await terminal.start(up, 'Ctrl-C');
        return both(story.up.said);
      },
    },
    {
      ...{ does: everything, counts: true },
      run: async () => both((await terminal.start(everything, 'listening on port')).said),
    },
    command(scene, 'mkdir files && echo hello > files/hello.txt', true),
    followed(scene, countersign(scene, 'add', 'files', '--yes', '--', 'npx', '-y', FILES, './files')),
    followed(scene, countersign(scene, 'add', 'everything', '--yes', '--url', `http://127.0.0.1:${port}/mcp`)),
  ];
}

/** A command that changes the configuration, up to the line with which the running product takes the change. */
function followed({ terminal }: Scene, does: string): Step {
  return {
    ...{ does, counts: true },
    async run({ up }) {
      assert.ok(up);
      const before = up.said.err.length;
      const said = both(await terminal.run(does));
      return `${said}${await takesTheChange(up, before)}`;
    },
  };
}

async function takesTheChange(up: Command, before: number): Promise<string> {
  await up.says('now in force', before);
  return `(up)  ${up.said.err.slice(before).trim()}`;
}

function rule({ terminal }: Scene): Step {
  return {
    does: 'a rule in countersign.yaml, with an editor',
    counts: true,
    async run({ up }) {
      assert.ok(up);
      const file = join(terminal.folder, 'countersign.yaml');
      const before = up.said.err.length;
      const text = readFileSync(file, 'utf8');
      assert.match(text, /^rules:\n/m);
      writeFileSync(
        file,
        text.replace(/^rules:\n/m, (line) => `${line}${RULE}`),
      );
      return `${RULE}${await takesTheChange(up, before)}`;
    },
  };
}

function calls(scene: Scene): Step[] {
  const { terminal, browser } = scene;
  const connect = countersign(scene, 'connect', '--print');
  return [
    {
      ...{ does: connect, counts: true },
      async run(story) {
        const said = await terminal.run(connect);
        const entry = JSON.parse(said.out) as { mcpServers: { countersign: { url: string } } };
        story.mcpUrl = entry.mcpServers.countersign.url;
        return both(said);
      },
    },
    {
      does: 'a host of the official client connects, and alice signs in through the browser',
      counts: true,
      async run(story) {
        story.host = await connectAs('alice', browser, story.mcpUrl ?? '');
        const names = await toolsOf(story.host, ['files', 'everything']);
        return `${names.length} tools`;
      },
    },
    {
      does: 'the host reads a file, which is allowed',
      counts: true,
      async run({ host }) {
        assert.ok(host);
        const said = await resultOf(host, 'files__read_text_file', {
          path: join(terminal.folder, 'files', 'hello.txt'),
        });
        assert.match(said, /hello/);
        return said;
      },
    },
    {
      does: 'the host asks for a sum, which is held; alice confirms it in the inbox, in her browser; the host receives it',
      counts: true,
      async run({ host, up }) {
        assert.ok(host && up);
        const [, inbox = ''] = /Inbox +(\S+)/.exec(up.said.out) ?? [];
        const [result, shown] = await Promise.all([
          resultOf(host, 'everything__get-sum', { a: 2, b: 3 }),
          confirmAs('alice', browser, inbox),
        ]);
        assert.match(result, /sum of 2 and 3 is 5/);
        return `alice reads: ${shown}\nthe host reads: ${result}`;
      },
    },
  ];
}

function afterwards(scene: Scene): Step[] {
  return [
    command(scene, countersign(scene, 'doctor'), false),
    {
      does: 'Ctrl-C',
      counts: false,
      async run({ host, up }) {
        assert.ok(up);
        await host?.close();
        const before = up.said.err.length;
        await up.interrupt();
        await up.says('Stopped.', before);
        return up.said.err.slice(before);
      },
    },
  ];
}
