import { installGo, installJava, installRust } from './install/compiled.ts';
import { installInspector } from './install/inspector.ts';
import { installNode } from './install/node.ts';
import { installPython } from './install/python.ts';
import type { Host, WayIn } from './row.ts';

const ALL: Host['waysIn'] = ['document', 'registration', 'token'];
const WITHOUT_DOCUMENTS: Host['waysIn'] = ['registration', 'token'];

interface Named {
  readonly title: string;
  readonly version: string;
  readonly toSet?: string;
  readonly waysIn?: readonly [WayIn, ...WayIn[]];
  readonly holds?: Host['holds'];
}

const host = (name: string, language: Host['language'], install: Host['install'], named: Named): Host => ({
  ...{ name, language, install, waysIn: ALL, holds: 'wait', toSet: '' },
  ...named,
});

const onNode = (name: string, named: Named) =>
  host(name, 'TypeScript', (installing) => installNode(name, installing), named);

const inPython = (name: string, folder: string, named: Named) =>
  host(name, 'Python', (installing) => installPython(name, installing, folder), named);

/** The rows of the matrix, in the order of the table. */
export const HOSTS: readonly Host[] = [
  onNode('sdk-1', { title: 'MCP SDK for TypeScript 1', version: '1.32.2' }),
  onNode('sdk-2', { title: 'MCP SDK for TypeScript 2', version: '2.4.0' }),
  onNode('langchain-js', { title: 'LangChain MCP adapters (JavaScript)', version: '1.1.4' }),
  onNode('openai-agents-js', { title: 'OpenAI Agents (JavaScript)', version: '0.20.0' }),
  onNode('ai-sdk', { title: 'AI SDK', version: '2.0.99', waysIn: WITHOUT_DOCUMENTS }),
  onNode('mcp-remote', { title: 'mcp-remote', version: '0.15.1' }),
  host('inspector', 'TypeScript', installInspector, { title: 'MCP Inspector', version: '2.12.0' }),
  inPython('mcp-python', 'hosts-py-mcp2', { title: 'MCP SDK for Python', version: '2.3.0' }),
  inPython('fastmcp-client', 'hosts-py-mcp2', { title: 'FastMCP', version: '4.2.3' }),
  inPython('openai-agents-python', 'hosts-py-mcp2', { title: 'OpenAI Agents (Python)', version: '0.24.0' }),
  inPython('langchain-python', 'hosts-py-mcp1', { title: 'LangChain MCP adapters (Python)', version: '0.3.2' }),
  inPython('mcp-use', 'hosts-py-mcp1', { title: 'mcp-use', version: '1.7.1' }),
  host('go-sdk', 'Go', installGo, { title: 'MCP SDK for Go', version: '1.8.0' }),
  host('java-sdk', 'Java', installJava, { title: 'MCP SDK for Java', version: '2.1.0', waysIn: ['token'] }),
  host('rust-sdk', 'Rust', installRust, { title: 'MCP SDK for Rust', version: '3.11.0' }),
  inPython('strands-agents', 'hosts-py-strands', { title: 'Strands Agents', version: '1.62.0', holds: 'task' }),
  inPython('fastmcp-tasks', 'hosts-py-tasks', { title: 'FastMCP with tasks', version: '4.1.4', holds: 'task' }),
];
