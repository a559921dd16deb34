import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, drive, given, HOME, run, takeSteps, TOKEN } from './common.ts';

const PROGRAM = given('HOST_PROGRAM');

const configurationOf = (modelUrl: string) => `# The model of this test.
model = "fake"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "${modelUrl}/v1"
wire_api = "responses"
supports_websockets = false
`;
/** Settings of the server that \`connect\` wrote. Without the first, Codex asks before each call, and without a terminal it refuses. */
const SETTINGS = [
  '-c',
  'mcp_servers.countersign.default_tools_approval_mode="approve"',
  ...(TOKEN === undefined ? [] : ['-c', 'mcp_servers.countersign.bearer_token_env_var="HOST_TOKEN"']),
];

await drive(async (modelUrl) => {
  mkdirSync(join(HOME, '.codex'), { recursive: true });
  writeFileSync(join(HOME, '.codex', 'config.toml'), configurationOf(modelUrl));
  await connect('codex');
  // It calls the browser by itself.
  if (TOKEN === undefined) await run(process.execPath, [PROGRAM, 'mcp', 'login', 'countersign']);
  await takeSteps((words) =>
    run(process.execPath, [PROGRAM, 'exec', '--skip-git-repo-check', '-s', 'read-only', ...SETTINGS, words]),
  );
});
