import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readEnvironment } from '../../../../../apps/shared/config/env.ts';
import { loadConfig } from '../../../../../apps/shared/config/load.ts';
import { formatProblem } from '../../../../../apps/shared/config/problems.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'host-servers-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const VARIABLES = { TOKEN: 'secret', EMPTY: '' };

/** The result of a block that is pasted from a host: its JSON is YAML as well. */
function paste(block: object | string) {
  writeFileSync(join(cwd, 'countersign.yaml'), typeof block === 'string' ? block : JSON.stringify(block));
  const { config, notes } = loadConfig({ environment: readEnvironment(VARIABLES), cwd });
  return { servers: config.mcpServers, notes: notes.map(formatProblem) };
}

/** The error lines for a refused block. */
function refused(server: object, block: (server: object) => object = (one) => ({ mcpServers: { s: one } })): string[] {
  try {
    paste(block(server));
  } catch (error) {
    expect(error).toMatchObject({ code: 'ERR_CONFIG_INVALID' });
    return (error as Error).message.split('\n').map((line) => line.replace(/^countersign\.yaml:\d+: /, ''));
  }
  throw new Error('the block was accepted');
}

const program = { command: 'npx', args: ['-y', 'some-server'] };
const site = { url: 'https://mcp.test/mcp' };
const POLICIES = 'it is ignored: policies decide which calls pass (see policies/README.md)';
const LIMIT = 'it is ignored: gateway.executionTimeoutSeconds limits a call';
const NO_EFFECT = 'it is ignored: it has no effect outside the host';

/** Blocks from the documentation of hosts: the settings that are read for the server `s`, and the warnings. */
const HOSTS: readonly (readonly [host: string, block: object, read: object, notes: readonly string[]])[] = [
  ['Claude Desktop', { mcpServers: { s: { ...program, env: { KEY: 'k' } } } }, { ...program, env: { KEY: 'k' } }, []],
  [
    'Claude Code, a program',
    { mcpServers: { s: { type: 'stdio', ...program, env: {} } } },
    { ...program, env: {} },
    [],
  ],
  [
    'Claude Code, a server',
    { mcpServers: { s: { type: 'http', ...site, headers: { Authorization: 'Bearer ${TOKEN:-none}' } } } },
    { ...site, headers: { Authorization: 'Bearer secret' } },
    [],
  ],
  [
    'Cursor',
    { mcpServers: { s: { type: 'stdio', ...program, env: { KEY: '${env:TOKEN}' } } } },
    { ...program, env: { KEY: 'secret' } },
    [],
  ],
  [
    'Cline',
    { mcpServers: { s: { ...program, disabled: false, autoApprove: ['read'], timeout: 60, type: 'stdio' } } },
    program,
    [`mcpServers.s.autoApprove: ${POLICIES}`, `mcpServers.s.timeout: ${LIMIT}`],
  ],
  [
    'Cline, a server',
    { mcpServers: { s: { type: 'streamableHttp', ...site, disabled: false, autoApprove: [] } } },
    site,
    [`mcpServers.s.autoApprove: ${POLICIES}`],
  ],
  [
    'Roo Code',
    {
      mcpServers: {
        s: { type: 'streamable-http', ...site, alwaysAllow: ['a'], disabled: false, disabledTools: [], watchPaths: [] },
      },
    },
    site,
    [`mcpServers.s.alwaysAllow: ${POLICIES}`, `mcpServers.s.watchPaths: ${NO_EFFECT}`],
  ],
  ['Windsurf', { mcpServers: { s: { serverUrl: site.url, headers: { 'x-key': 'k' } } } }, site, []],
  [
    'Gemini CLI',
    { mcpServers: { s: { httpUrl: site.url, timeout: 5000, trust: true, description: 'some server' } } },
    site,
    [`mcpServers.s.timeout: ${LIMIT}`, `mcpServers.s.trust: ${POLICIES}`, `mcpServers.s.description: ${NO_EFFECT}`],
  ],
  ['Copilot CLI', { mcpServers: { s: { type: 'local', ...program, tools: ['*'] } } }, program, []],
  [
    'VS Code',
    { servers: { s: { type: 'stdio', ...program, env: { PORT: 1, ON: true, OFF: null } } }, inputs: [] },
    { ...program, env: { PORT: '1', ON: 'true' } },
    [],
  ],
];

describe('a block of an MCP host', () => {
  it.each(HOSTS)(
    'is accepted unchanged, with a warning for settings without effect: %s',
    (_host, block, read, notes) => {
      const pasted = paste(block);
      expect(Object.keys(pasted.servers)).toEqual(['s']);
      expect(pasted.servers['s']).toMatchObject(read);
      expect(pasted.notes).toEqual(notes);
    },
  );

  it.each([{ disabled: true }, { enabled: false }, { isActive: false }])(
    'does not start a server that is switched off in it, and ignores its other settings: %j',
    (off) => {
      const { servers, notes } = paste({ mcpServers: { s: { ...program, env: { KEY: '${NO_SUCH}' }, ...off } } });
      expect(servers).toEqual({});
      expect(notes).toEqual(['mcpServers.s: it is switched off, so it is not started and its tools are not offered']);
    },
  );

  it('keeps our own settings beside those of a host', () => {
    const { servers } = paste({ mcpServers: { s: { ...site, type: 'http', prefix: 'own', auth: undefined } } });
    expect(servers['s']).toMatchObject({ ...site, prefix: 'own' });
  });

  it('does not repeat the value of a setting', () => {
    const { notes } = paste({ mcpServers: { s: { ...program, description: 'a secret' } } });
    expect(notes.join()).not.toMatch('a secret');
  });
});

describe('a block of an MCP host is refused', () => {
  it.each([
    ['disabledTools', ['write']],
    ['excludeTools', ['write']],
    ['includeTools', ['read']],
    ['includeTools', []],
    ['allowedTools', ['read']],
    ['tools', ['read']],
    ['sandbox', { network: false }],
    ['oauth', { clientId: 'us' }],
    ['envFile', '.env'],
  ])('where ignoring %s would open more, or break it', (name, value) => {
    expect(refused({ ...program, [name]: value })).toEqual([
      expect.stringMatching(new RegExp(`^mcpServers\\.s\\.${name}: the host .* Remove it, and `)),
    ]);
  });

  it.each([
    ['sse', site, /^mcpServers\.s\.type: Countersign supports only stdio and streamable-http/],
    ['ws', site, /only stdio and streamable-http/],
    [7, site, /only stdio and streamable-http/],
    ['stdio', site, /^mcpServers\.s\.type: a program needs command$/],
    ['http', program, /^mcpServers\.s\.type: a server that is reached over HTTP needs url$/],
  ])('where its type contradicts its settings: %s', (type, server, problem) => {
    expect(refused({ type, ...server })).toEqual([expect.stringMatching(problem)]);
  });

  it('where it has two addresses', () => {
    expect(refused({ url: 'https://one.test/sse', httpUrl: site.url })).toEqual([
      'mcpServers.s.url: it has several addresses; keep the one of the streamable HTTP endpoint',
    ]);
  });

  it('where only the host could fill in a text', () => {
    const said = (kind: string) =>
      `only the host can expand \${${kind}:…}. Use \${NAME}, which is a variable of the environment`;
    const server = { ...program, args: ['a', '${input:key}'], env: { KEY: '${command:pick}' } };
    expect(refused(server, (s) => ({ servers: { s }, inputs: [{ id: 'key' }] }))).toEqual([
      `servers.s.args[1]: ${said('input')}`,
      `servers.s.env.KEY: ${said('command')}`,
    ]);
  });

  it.each(['argz', 'constructor', '__proto__'])('where a setting is misspelled: %s', (name) => {
    const server = `{"command":"npx",${JSON.stringify(name)}:[]}`;
    expect(() => paste(`{"mcpServers":{"s":${server}}}`)).toThrow(`mcpServers.s.${name}: there is no such setting`);
  });

  it.each([{ disabled: 'yes' }, { enabled: 0 }])('where a switch is neither on nor off: %j', (server) => {
    const [name] = Object.keys(server);
    expect(refused({ ...program, ...server })).toEqual([
      `mcpServers.s.${name}: there is no such setting; docs/settings.md lists all`,
    ]);
  });
});
