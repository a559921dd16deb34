import { join } from 'node:path';
import { connect, HOME, pasteToken, run, TOKEN } from './common.ts';

const DOCUMENT = process.env['HOST_DOCUMENT'];
/** Where it keeps its servers, and what it has asked its person. */
export const OWN_FILE = join(HOME, '.claude.json');

/** Connects Claude Code as its users do, signs in, and answers the variables with which it asks the model at this address. */
export async function setUpClaudeCode(program: string, modelUrl: string): Promise<Record<string, string>> {
  const env = {
    ...{ ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_AUTH_TOKEN: 'unused', ENABLE_TOOL_SEARCH: 'false' },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
    // A slow machine would ask the model before the servers are connected.
    ...{ MCP_CONNECTION_NONBLOCKING: '0', CLAUDE_CODE_MCP_STARTUP_WAIT_MS: '60000', MCP_CONNECT_TIMEOUT_MS: '60000' },
    // The document of its vendor cannot be reached from here.
    ...(DOCUMENT !== undefined && { MCP_OAUTH_CLIENT_METADATA_URL: DOCUMENT }),
  };
  await connect('claude-code');
  // It calls the browser by itself, but only in a terminal.
  if (TOKEN === undefined) await run('script', ['-qec', `${program} mcp login countersign`, '/dev/null'], { env });
  else pasteToken(OWN_FILE);
  return env;
}
