import { installGo, installJava, installRust } from './install/compiled.ts';
import { installInspector } from './install/inspector.ts';
import { installNode } from './install/node.ts';
import { installPython } from './install/python.ts';
import type { Host, WayIn } from './row.ts';
import { HOSTS_WITH_A_MODEL } from './with-a-model.ts';

const NONE = 'none';
const OF_THE_SDK = '60 s';
const ALL: Host['waysIn'] = ['document', 'registration', 'token'];
const WITHOUT_DOCUMENTS: Host['waysIn'] = ['registration', 'token'];

interface Named {
  readonly title: string;
  readonly version: string;
  readonly ownLimit?: string;
  readonly toSet?: string;
  readonly waysIn?: readonly [WayIn, ...WayIn[]];
  readonly holds?: Host['holds'];
}

const host = (name: string, language: Host['language'], install: Host['install'], named: Named): Host => ({
  ...{ name, language, install, waysIn: ALL, holds: 'wait', ownLimit: NONE, toSet: '' },
  ...named,
});

const onNode = (name: string, named: Named) =>
  host(name, 'TypeScript', (installing) => installNode(name, installing), named);

const inPython = (name: string, folder: string, named: Named) =>
  host(name, 'Python', (installing) => installPython(name, installing, folder), named);

const installAgentsAsTheyAre: Host['install'] = async (installing) => ({
  ...(await installPython('openai-agents-python', installing, 'hosts-py-mcp2')),
  env: { HOST_AS_IT_IS: '1' },
});

/** The rows of the matrix, in the order of the table. */
export const HOSTS: readonly Host[] = [
  onNode('sdk-1', {
    title: 'MCP SDK for TypeScript 1',
    version: '1.32.2',
    ownLimit: OF_THE_SDK,
    toSet: '`resetTimeoutOnProgress` with `onprogress`, to wait longer',
  }),
  onNode('sdk-2', {
    title: 'MCP SDK for TypeScript 2',
    version: '2.4.0',
    ownLimit: OF_THE_SDK,
    toSet: '`resetTimeoutOnProgress` with `onprogress`, to wait longer',
  }),
  onNode('langchain-js', {
    title: 'LangChain MCP adapters (JavaScript)',
    version: '1.1.4',
    ownLimit: OF_THE_SDK,
    toSet: 'sign in with `auth` of the SDK first',
  }),
  onNode('openai-agents-js', {
    title: 'OpenAI Agents (JavaScript)',
    version: '0.20.0',
    ownLimit: OF_THE_SDK,
    toSet: 'sign in with `auth` of the SDK first',
  }),
  onNode('ai-sdk', {
    title: 'AI SDK',
    version: '2.0.99',
    waysIn: WITHOUT_DOCUMENTS,
    toSet: 'sign in with its `auth` first',
  }),
  onNode('mcp-remote', {
    title: 'mcp-remote',
    version: '0.15.1',
    toSet: '`--auth-timeout 300`: it waits 30 s for a person',
  }),
  host('inspector', 'TypeScript', installInspector, {
    title: 'MCP Inspector',
    version: '2.12.0',
    ownLimit: '60 s',
    toSet: '`MCP_INSPECTOR_SECRET_STORE=file` without a keyring, or each run signs in',
  }),
  inPython('mcp-python', 'hosts-py-mcp2', { title: 'MCP SDK for Python', version: '2.3.0' }),
  inPython('fastmcp-client', 'hosts-py-mcp2', { title: 'FastMCP', version: '4.2.3' }),
  inPython('openai-agents-python', 'hosts-py-mcp2', {
    title: 'OpenAI Agents (Python)',
    version: '0.24.0',
    ownLimit: '**5 s**',
    toSet: '`client_session_timeout_seconds=60`',
  }),
  host('openai-agents-python-as-it-is', 'Python', installAgentsAsTheyAre, {
    title: 'OpenAI Agents (Python), nothing set',
    version: '0.24.0',
    holds: 'give up',
    ownLimit: '**5 s**',
    toSet: 'nothing, to show what happens',
  }),
  inPython('langchain-python', 'hosts-py-mcp1', { title: 'LangChain MCP adapters (Python)', version: '0.3.2' }),
  inPython('mcp-use', 'hosts-py-mcp1', { title: 'mcp-use (Python)', version: '1.7.1' }),
  host('go-sdk', 'Go', installGo, { title: 'MCP SDK for Go', version: '1.8.0' }),
  host('java-sdk', 'Java', installJava, {
    title: 'MCP SDK for Java',
    version: '2.1.0',
    waysIn: ['token'],
    ownLimit: '**20 s**',
    toSet: '`requestTimeout(Duration.ofSeconds(60))`, if `clientInfo` is set; it has no sign-in',
  }),
  host('rust-sdk', 'Rust', installRust, { title: 'MCP SDK for Rust', version: '3.11.0' }),
  inPython('strands-agents', 'hosts-py-strands', {
    title: 'Strands Agents',
    version: '1.62.0',
    holds: 'task',
    ownLimit: '5 min for a task',
    toSet: '`tasks_config={}`; its `poll_timeout` for longer',
  }),
  inPython('fastmcp-tasks', 'hosts-py-tasks', {
    title: 'FastMCP with tasks',
    version: '4.1.4',
    holds: 'task',
    toSet: '`import fastmcp_tasks`',
  }),
  ...HOSTS_WITH_A_MODEL,
];
