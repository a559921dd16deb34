import { join } from 'node:path';

/** Where a host looks for its files. */
export interface Places {
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly variables: Readonly<Record<string, string>>;
}

/** How a host reaches Countersign. */
export interface Address {
  /** The MCP endpoint. */
  readonly url: string;
  /** For hosts that only launch programs: the program of this installation that serves them, and variables that it needs. */
  readonly program: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
}

export interface Host {
  readonly name: string;
  /** As its users call it. */
  readonly label: string;
  readonly format: 'json' | 'toml' | 'yaml';
  /** The file of its user. Of several, the first that exists counts, else the first. */
  readonly files: (places: Places) => readonly string[];
  /** The files that count in one folder, if it has such files. */
  readonly projectFiles?: readonly string[];
  /** Where the servers stand in the file. `content`: what the file contains now. */
  readonly path: (content: unknown) => readonly string[];
  readonly entry: (address: Address, content: unknown) => Readonly<Record<string, unknown>>;
  /** How to sign in and to see that it works. */
  readonly check: string;
}

/** The name under which hosts know Countersign. */
export const SERVER_NAME = 'countersign';

/** `XDG_CONFIG_HOME`, and on Windows the folder of applications. */
const configHome = ({ home, platform, variables }: Places): string =>
  platform === 'win32'
    ? (variables['APPDATA'] ?? join(home, 'AppData', 'Roaming'))
    : (variables['XDG_CONFIG_HOME'] ?? join(home, '.config'));
/** Where desktop programs keep their settings. */
const applicationHome = (places: Places): string =>
  places.platform === 'darwin' ? join(places.home, 'Library', 'Application Support') : configHome(places);
/** `~/.config` on every system but Windows, also where other programs use another folder. */
const unixConfig = (places: Places, windows: string, unix: string): string =>
  join(configHome(places), places.platform === 'win32' ? windows : unix);

const at =
  (...path: string[]) =>
  () =>
    path;
const streamable = ({ url }: Address) => ({ type: 'http', url });
const plain = ({ url }: Address) => ({ url });
/** The entry of a host that launches a program. */
export const launched = ({ program }: Address) => ({ ...program });

/** OpenCode 1 has its servers directly in `mcp`, each with its type. */
const isOldOpenCode = (content: unknown): boolean => {
  const mcp: unknown = typeof content === 'object' && content !== null && 'mcp' in content ? content.mcp : undefined;
  if (typeof mcp !== 'object' || mcp === null || 'servers' in mcp) return false;
  return Object.values(mcp).some((one: unknown) => typeof one === 'object' && one !== null && 'type' in one);
};

/** Formats and places as the documentation of each host had them in November 2026. */
export const HOSTS: readonly Host[] = [
  {
    name: 'claude-code',
    label: 'Claude Code',
    format: 'json',
    files: ({ home, variables }) => [join(variables['CLAUDE_CONFIG_DIR'] ?? home, '.claude.json')],
    projectFiles: ['.mcp.json'],
    path: at('mcpServers'),
    entry: streamable,
    check: 'Start `claude`, enter /mcp, choose countersign and sign in.',
  },
  {
    name: 'claude-desktop',
    label: 'Claude Desktop',
    format: 'json',
    files: (places) => [join(applicationHome(places), 'Claude', 'claude_desktop_config.json')],
    path: at('mcpServers'),
    // Its file takes programs only, and its connectors cannot reach this machine.
    entry: launched,
    check:
      'Quit Claude Desktop and start it again. It opens the browser for the sign-in. Then look for countersign among the tools of a new chat.',
  },
  {
    name: 'vscode',
    label: 'VS Code',
    format: 'json',
    files: (places) => [join(applicationHome(places), 'Code', 'User', 'mcp.json')],
    projectFiles: [join('.vscode', 'mcp.json')],
    path: at('servers'),
    entry: streamable,
    check: 'Run the command "MCP: List Servers", choose countersign, start it and sign in.',
  },
  {
    name: 'cursor',
    label: 'Cursor',
    format: 'json',
    files: ({ home }) => [join(home, '.cursor', 'mcp.json')],
    projectFiles: [join('.cursor', 'mcp.json')],
    path: at('mcpServers'),
    entry: plain,
    check: 'Open the settings of Cursor, then the MCP servers, and sign in to countersign.',
  },
  {
    name: 'codex',
    label: 'Codex',
    format: 'toml',
    files: ({ home, variables }) => [join(variables['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml')],
    projectFiles: [join('.codex', 'config.toml')],
    path: at('mcp_servers'),
    entry: plain,
    check: 'Run `codex mcp login countersign`, then start `codex` and enter /mcp.',
  },
  {
    name: 'goose',
    label: 'goose',
    format: 'yaml',
    files: (places) => [
      unixConfig(places, join('Block', 'goose', 'config', 'config.yaml'), join('goose', 'config.yaml')),
    ],
    path: at('extensions'),
    entry: ({ url }) => ({
      ...{ enabled: true, type: 'streamable_http', name: SERVER_NAME, uri: url, timeout: 300 },
      description: 'Tools behind Countersign: some calls wait for an approval',
    }),
    check: 'Start a new session, which opens the browser for the sign-in, and ask for the tools of countersign.',
  },
  {
    name: 'opencode',
    label: 'OpenCode',
    format: 'json',
    files: (places) =>
      ['opencode.json', 'opencode.jsonc'].map((name) =>
        join(places.variables['XDG_CONFIG_HOME'] ?? join(places.home, '.config'), 'opencode', name),
      ),
    projectFiles: ['opencode.json', 'opencode.jsonc'],
    path: (content) => (isOldOpenCode(content) ? ['mcp'] : ['mcp', 'servers']),
    entry: ({ url }, content) => ({ type: 'remote', url, ...(isOldOpenCode(content) && { enabled: true }) }),
    check: 'Run `opencode mcp list`; if it needs authentication, start `opencode`, enter /mcps and sign in.',
  },
  {
    name: 'gemini-cli',
    label: 'Gemini CLI',
    format: 'json',
    files: ({ home }) => [join(home, '.gemini', 'settings.json')],
    projectFiles: [join('.gemini', 'settings.json')],
    path: at('mcpServers'),
    // Its `url` means the older transport.
    entry: ({ url }) => ({ httpUrl: url }),
    check: 'Start `gemini`, and enter /mcp auth countersign, then /mcp.',
  },
  {
    name: 'windsurf',
    label: 'Windsurf',
    format: 'json',
    files: ({ home }) => [join(home, '.codeium', 'windsurf', 'mcp_config.json')],
    path: at('mcpServers'),
    entry: ({ url }) => ({ serverUrl: url }),
    check: 'Open the MCP servers in Cascade, press refresh, and sign in to countersign.',
  },
  {
    name: 'zed',
    label: 'Zed',
    format: 'json',
    files: (places) => [unixConfig(places, join('Zed', 'settings.json'), join('zed', 'settings.json'))],
    path: at('context_servers'),
    entry: plain,
    check: 'Open the settings of Zed, then the MCP servers, and sign in to countersign.',
  },
];
