import { join } from 'node:path';
import { connect, drive, given, HOME, pasteToken, run, takeSteps, TOKEN } from './common.ts';

const PROGRAM = given('HOST_PROGRAM');
const DOCUMENT = process.env['HOST_DOCUMENT'];

await drive(async (modelUrl) => {
  const env = {
    ...{ ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: 'unused', ENABLE_TOOL_SEARCH: 'false' },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
    // A slow machine would ask the model before the servers are connected.
    ...{ MCP_CONNECTION_NONBLOCKING: '0', CLAUDE_CODE_MCP_STARTUP_WAIT_MS: '60000', MCP_CONNECT_TIMEOUT_MS: '60000' },
    // The document of its vendor cannot be reached from here.
    ...(DOCUMENT !== undefined && { MCP_OAUTH_CLIENT_METADATA_URL: DOCUMENT }),
  };
  await connect('claude-code');
  // It calls the browser by itself, but only in a terminal.
  if (TOKEN === undefined) await run('script', ['-qec', `${PROGRAM} mcp login countersign`, '/dev/null'], { env });
  else pasteToken(join(HOME, '.claude.json'));
  await takeSteps((words) => run(PROGRAM, ['-p', words, '--allowedTools', 'mcp__countersign'], { env }));
});
