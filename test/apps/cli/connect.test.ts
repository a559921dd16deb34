import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse as parseJson } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { withServer } from '../../../apps/cli/commands/connect/host-text.ts';
import { type Host, HOSTS, type Places } from '../../../apps/cli/commands/connect/hosts.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { Desk } from './run.ts';

const URL = 'http://127.0.0.1:4100/mcp';
const PROGRAM = packagePath('apps', 'cli', 'countersign.mjs');
const PARSERS = {
  json: (text: string) => parseJson(text) as unknown,
  toml: parseToml,
  yaml: (text: string) => parseYaml(text) as unknown,
};
const desk = () => new Desk('host: 127.0.0.1\n');
const at = (of: Desk, ...path: string[]) => join(of.folder, ...path);

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o600 });
}

/** Where each host has its file on Linux, and the entry that it needs. */
const EXPECTED = {
  'claude-code': ['.claude.json', { mcpServers: { countersign: { type: 'http', url: URL } } }],
  'claude-desktop': [
    '.config/Claude/claude_desktop_config.json',
    { mcpServers: { countersign: { command: process.execPath, args: [PROGRAM, 'stdio', '--url', URL] } } },
  ],
  vscode: ['.config/Code/User/mcp.json', { servers: { countersign: { type: 'http', url: URL } } }],
  cursor: ['.cursor/mcp.json', { mcpServers: { countersign: { url: URL } } }],
  codex: ['.codex/config.toml', { mcp_servers: { countersign: { url: URL } } }],
  goose: [
    '.config/goose/config.yaml',
    { extensions: { countersign: { type: 'streamable_http', uri: URL, enabled: true } } },
  ],
  opencode: ['.config/opencode/opencode.json', { mcp: { servers: { countersign: { type: 'remote', url: URL } } } }],
  'gemini-cli': ['.gemini/settings.json', { mcpServers: { countersign: { httpUrl: URL } } }],
  windsurf: ['.codeium/windsurf/mcp_config.json', { mcpServers: { countersign: { serverUrl: URL } } }],
  zed: ['.config/zed/settings.json', { context_servers: { countersign: { url: URL } } }],
} as const;

const formatOf = (name: string): Host['format'] => HOSTS.find((host) => host.name === name)?.format ?? 'json';

describe('countersign connect', () => {
  it.each(Object.entries(EXPECTED))('writes the file of %s, and says how to check', async (name, [file, content]) => {
    const own = desk();
    const { code, out, err } = await own.run(['connect', name, '--yes'], { env: { HOME: own.folder } });
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`Wrote ${at(own, file)}.`);
    expect(out).toContain(HOSTS.find((host) => host.name === name)?.check);
    expect(PARSERS[formatOf(name)](readFileSync(at(own, file), 'utf8'))).toMatchObject(content);
  });

  it('knows every host that its help names, and no other', () => {
    expect(HOSTS.map(({ name }) => name)).toEqual(Object.keys(EXPECTED));
  });

  it('keeps comments and settings, the mode, and a copy of the file as it was', async () => {
    const own = desk();
    const text = `{
\t// mine
\t"mcpServers": {
\t\t"other": { "command": "x", "env": { "TOKEN": "secret-value" } }, // last
\t},
}
`;
    const file = at(own, '.cursor', 'mcp.json');
    write(file, text);
    const { code, out, err, questions } = await own.run(['connect', 'cursor'], {
      env: { HOME: own.folder },
      answer: 'y',
    });
    expect([code, questions.length]).toEqual([0, 1]);
    const after = readFileSync(file, 'utf8');
    for (const kept of ['// mine', '// last', '\t\t"other": { "command": "x", "env": { "TOKEN": "secret-value" } }'])
      expect(after).toContain(kept);
    expect(parseJson(after)).toMatchObject({ mcpServers: { other: { command: 'x' }, countersign: { url: URL } } });
    expect(out + err).not.toContain('secret-value');
    const copy = readdirSync(dirname(file)).find((name) => name.endsWith('.bak')) ?? '';
    expect(readFileSync(join(dirname(file), copy), 'utf8')).toBe(text);
    for (const name of ['mcp.json', copy]) expect(statSync(join(dirname(file), name)).mode & 0o777).toBe(0o600);
  });

  it('changes nothing after another answer than yes', async () => {
    const own = desk();
    const { code, err } = await own.run(['connect', 'codex'], { env: { HOME: own.folder }, answer: '' });
    expect(code).toBe(1);
    expect(err).toContain('nothing was written');
    expect(readdirSync(own.folder)).toEqual(['countersign.yaml']);
  });

  it('finds a host that is connected already', async () => {
    const own = desk();
    const connect = () => own.run(['connect', 'goose', '--yes'], { env: { HOME: own.folder } });
    await connect();
    expect((await connect()).out).toContain('goose is connected already');
  });

  it('puts a new address in place of an old one, in each format', async () => {
    for (const name of ['vscode', 'codex', 'goose']) {
      const own = desk();
      const run = (...args: string[]) => own.run(['connect', name, '--yes', ...args], { env: { HOME: own.folder } });
      await run('--url', 'http://127.0.0.1:9/mcp');
      expect((await run()).code).toBe(0);
      const text = readFileSync(at(own, EXPECTED[name as 'codex'][0]), 'utf8');
      expect(text).toContain(URL);
      expect(text).not.toContain(':9/mcp');
    }
  });

  it('writes the file of the folder with --project', async () => {
    const own = desk();
    const project = async (name: string) =>
      own.run(['connect', name, '--project', '--yes'], { env: { HOME: '/nowhere' } });
    for (const [name, file] of [
      ['claude-code', '.mcp.json'],
      ['vscode', '.vscode/mcp.json'],
      ['codex', '.codex/config.toml'],
    ] as const) {
      expect((await project(name)).out).toContain(at(own, file));
    }
    expect(await project('windsurf')).toMatchObject({ code: 2, err: expect.stringContaining('leave out --project') });
  });

  it('prints only the entry on stdout', async () => {
    const { out, err } = await desk().run(['connect', 'codex', '--print'], { env: { HOME: '/nowhere' } });
    expect(out).toBe(`[mcp_servers.countersign]\nurl = "${URL}"`);
    expect(err).toContain('/nowhere/.codex/config.toml');
    const any = await desk().run(['connect', '--print']);
    expect(JSON.parse(any.out)).toEqual({ mcpServers: { countersign: { type: 'http', url: URL } } });
  });

  it('prints the entry of a program, with the variables that its sign-in needs and no secret', async () => {
    const env = {
      ...{ COUNTERSIGN_CLIENT_ID: 'desktop', COUNTERSIGN_TOKEN: 'hidden-token' },
      COUNTERSIGN_CLIENT_SECRET: 'hidden-secret',
    };
    const { out, err } = await desk().run(['connect', '--print', '--stdio'], { env });
    expect(JSON.parse(out)).toEqual({
      mcpServers: {
        countersign: {
          command: process.execPath,
          args: [PROGRAM, 'stdio', '--url', URL],
          env: { COUNTERSIGN_CLIENT_ID: 'desktop' },
        },
      },
    });
    expect(out + err).not.toContain('hidden');
  });

  it('uses the older form of OpenCode where its file has it', async () => {
    const own = desk();
    write(
      at(own, '.config', 'opencode', 'opencode.jsonc'),
      '{ "mcp": { "a": { "type": "local", "command": ["x"] } } }',
    );
    await own.run(['connect', 'opencode', '--yes'], { env: { HOME: own.folder } });
    const text = readFileSync(at(own, '.config', 'opencode', 'opencode.jsonc'), 'utf8');
    expect(parseJson(text)).toMatchObject({ mcp: { a: {}, countersign: { type: 'remote', url: URL, enabled: true } } });
  });

  it.each([
    [['connect', 'emacs'], 2, 'there is no host called emacs; known are claude-code'],
    [['connect', 'zed', '--url', 'x'], 2, '--url takes an address'],
    [['connect', 'zed'], 2, 'add --yes'],
    [['connect', 'zed', '--stdio', '--yes'], 2, '--stdio goes with --print and without a host'],
    [['connect', '--stdio'], 2, '--stdio goes with --print and without a host'],
  ])('says what to do after %j', async (args, exit, said) => {
    const { code, err } = await desk().run(args, { env: { HOME: '/nowhere' } });
    expect(code).toBe(exit);
    expect(err).toContain(said);
  });

  it.each([
    ['cursor', '.cursor/mcp.json', '{ "mcpServers": { "a": "hidden-word" '],
    ['codex', '.codex/config.toml', 'token = "hidden-word'],
    ['goose', '.config/goose/config.yaml', 'a: [hidden-word'],
  ])('leaves a broken file of %s alone, and quotes nothing of it', async (name, path, text) => {
    const own = desk();
    write(at(own, path), text);
    const { code, err } = await own.run(['connect', name, '--yes'], { env: { HOME: own.folder } });
    expect(code).toBe(1);
    expect(err).toContain('use --print');
    expect(err).not.toContain('hidden-word');
    expect(readFileSync(at(own, path), 'utf8')).toBe(text);
  });

  it('lists hosts with their files', async () => {
    const { out } = await desk().run(['connect', '--json'], { env: { HOME: '/nowhere' } });
    expect(JSON.parse(out).hosts).toContainEqual(
      expect.objectContaining({ host: 'zed', file: '/nowhere/.config/zed/settings.json', exists: false }),
    );
  });
});

describe('the files of hosts', () => {
  const places = (platform: NodeJS.Platform, variables: Places['variables'] = {}): Places => ({
    home: '/h',
    platform,
    variables,
  });
  const file = (name: string, of: Places) => HOSTS.find((host) => host.name === name)?.files(of)[0];

  it.each([
    ['claude-desktop', places('darwin'), '/h/Library/Application Support/Claude/claude_desktop_config.json'],
    ['claude-desktop', places('win32', { APPDATA: '/r' }), '/r/Claude/claude_desktop_config.json'],
    ['vscode', places('win32', { APPDATA: '/r' }), '/r/Code/User/mcp.json'],
    ['vscode', places('darwin'), '/h/Library/Application Support/Code/User/mcp.json'],
    ['goose', places('darwin'), '/h/.config/goose/config.yaml'],
    ['goose', places('win32', { APPDATA: '/r' }), '/r/Block/goose/config/config.yaml'],
    ['zed', places('win32', { APPDATA: '/r' }), '/r/Zed/settings.json'],
    ['zed', places('linux', { XDG_CONFIG_HOME: '/x' }), '/x/zed/settings.json'],
    ['codex', places('linux', { CODEX_HOME: '/c' }), '/c/config.toml'],
    ['opencode', places('win32', { APPDATA: '/r' }), '/h/.config/opencode/opencode.json'],
  ])('%s on %j is %s', (name, of, expected) => {
    expect(file(name, of)).toBe(expected);
  });
});

describe('a TOML file', () => {
  const placed = { path: ['mcp_servers', 'countersign'], entry: { url: URL }, file: 'config.toml' };

  it('gets the table at its end, and keeps the rest to the letter', () => {
    const text = '# mine\nmodel = "x"   # aligned\n\n[mcp_servers.other]\ncommand = "y"\n[tui]\na = 1979-05-27\n';
    expect(withServer('toml', text, placed)).toBe(`${text}\n[mcp_servers.countersign]\nurl = "${URL}"\n`);
  });

  it('is refused where the servers stand in one line, which cannot get a table', () => {
    expect(() => withServer('toml', 'mcp_servers = { a = { url = "x" } }\n', placed)).toThrow(/use --print/);
  });

  it('is refused where a text of it looks like the table', () => {
    const text = 'note = """\n[mcp_servers.countersign]\n"""\n[mcp_servers.countersign]\nurl = "x"\n';
    expect(() => withServer('toml', text, placed)).toThrow(/use --print/);
  });
});
