import {
  installClaudeCode,
  installClaudeCodeInTerminal,
  installCodex,
  installGeminiCli,
} from './install/command-lines.ts';
import { exampleNode, examplePython } from './install/examples.ts';
import type { Host } from './row.ts';

type Named = Omit<Host, 'holds' | 'toSet'> & Partial<Pick<Host, 'holds' | 'toSet'>>;

const host = (named: Named): Host => ({ holds: 'wait', toSet: '', ...named });

/** Programs that people talk to. A model of this repository answers in place of theirs. */
const COMMAND_LINES: readonly Host[] = [
  host({
    name: 'gemini-cli',
    title: 'Gemini CLI',
    version: '0.61.0',
    language: 'program',
    waysIn: ['registration', 'token'],
    ownLimit: '10 min',
    install: installGeminiCli,
  }),
  host({
    name: 'codex',
    title: 'Codex',
    hasOwnDocument: true,
    version: '0.169.0',
    language: 'program',
    waysIn: ['registration', 'token'],
    ownLimit: '5 min',
    toSet: 'for `codex exec`: `default_tools_approval_mode = "approve"`',
    isLarge: true,
    install: installCodex,
  }),
  host({
    name: 'claude-code-terminal',
    title: 'Claude Code, in a terminal',
    hasOwnDocument: true,
    version: '2.1.332',
    language: 'program',
    waysIn: ['document', 'registration', 'token'],
    holds: 'task',
    isInTerminal: true,
    ownLimit: 'none for a task',
    isLarge: true,
    install: installClaudeCodeInTerminal,
  }),
  host({
    name: 'claude-code',
    title: 'Claude Code, with `-p`',
    hasOwnDocument: true,
    version: '2.1.332',
    language: 'program',
    waysIn: ['document', 'registration', 'token'],
    ownLimit: '5 min without a word',
    isLarge: true,
    install: installClaudeCode,
  }),
];

/** The programs of `examples/agents`, as people copy them. */
const EXAMPLES: readonly Host[] = [
  host({
    name: 'example-plain-client',
    title: 'Example: plain Python',
    version: '2.3.0',
    language: 'Python',
    waysIn: ['registration', 'token'],
    ownLimit: 'none',
    install: (installing) =>
      examplePython('plain_client', installing, { folder: 'hosts-py-mcp2', driver: 'example-plain' }),
  }),
  host({
    name: 'example-openai-agent',
    title: 'Example: OpenAI Agents',
    version: '0.24.0',
    language: 'Python',
    waysIn: ['token'],
    ownLimit: '5 s, which the example changes',
    install: (installing) =>
      examplePython('openai_agent', installing, { folder: 'hosts-py-mcp2', driver: 'example-agent' }),
  }),
  host({
    name: 'example-langchain-agent',
    title: 'Example: LangChain',
    version: '1.5.2',
    language: 'Python',
    waysIn: ['token'],
    ownLimit: 'none',
    install: (installing) =>
      examplePython('langchain_agent', installing, { folder: 'hosts-py-langchain', driver: 'example-agent' }),
  }),
  host({
    name: 'example-ai-sdk-agent',
    title: 'Example: AI SDK',
    version: '7.0.173',
    language: 'TypeScript',
    waysIn: ['token'],
    ownLimit: 'none',
    install: (installing) => exampleNode('ai_sdk_agent', installing),
  }),
];

export const HOSTS_WITH_A_MODEL: readonly Host[] = [...COMMAND_LINES, ...EXAMPLES];
