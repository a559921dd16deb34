import { setUpClaudeCode } from './claude-code-setup.ts';
import { drive, given, run, takeSteps } from './common.ts';

const PROGRAM = given('HOST_PROGRAM');

await drive(async (modelUrl) => {
  const env = await setUpClaudeCode(PROGRAM, modelUrl);
  await takeSteps((words) => run(PROGRAM, ['-p', words, '--allowedTools', 'mcp__countersign'], { env }));
});
