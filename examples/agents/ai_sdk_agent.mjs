// An agent of the AI SDK. A call that needs an approval waits until a person has decided.
//
//   npx countersign up                       # in another terminal
//   npm install ai@7.0.173 @ai-sdk/mcp@2.0.99 @ai-sdk/anthropic@4.0.105      # for Node.js 22 or newer
//   export ANTHROPIC_API_KEY=...             # MODEL chooses another model
//   export COUNTERSIGN_TOKEN=$(npx countersign token --as agent)
//   node ai_sdk_agent.mjs "Write 'hello' into the file hello.txt"
import { anthropic } from '@ai-sdk/anthropic';
import { createMCPClient } from '@ai-sdk/mcp';
import { generateText, isStepCount } from 'ai';

const { COUNTERSIGN_URL = 'http://127.0.0.1:4100/mcp', COUNTERSIGN_TOKEN, MODEL = 'claude-sonnet-5' } = process.env;
const INSTRUCTIONS = `Some tools need the approval of a person. If an answer says that a tool has not run, do not claim that it has.
Call get_request_status with the reference until an answer says how the call ended.`;

const headers = { Authorization: `Bearer ${COUNTERSIGN_TOKEN}` };
const client = await createMCPClient({ transport: { type: 'http', url: COUNTERSIGN_URL, headers } });
try {
  const { text } = await generateText({
    model: anthropic(MODEL),
    instructions: INSTRUCTIONS,
    prompt: process.argv[2],
    tools: await client.tools(),
    // Each get_request_status is a step.
    stopWhen: isStepCount(100),
    // Prints what each tool answers. For a call that still waits, that is the page on which a person decides.
    onStepEnd({ toolResults }) {
      for (const { toolName, output } of toolResults) {
        console.log(`${toolName}: ${output.content.map(({ text }) => text).join('\n')}`);
      }
    },
  });
  console.log(text);
} finally {
  await client.close();
}
