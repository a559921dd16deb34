import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../apps/shared/config/files.ts';
import type { OpenRequest } from '../support/decisions.ts';
import { launchBrowser } from '../support/chromium.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';
import { taker, type Taker } from './taker.ts';
import { drawTerminals } from './terminal.ts';

// Draws what terminals showed in `npm run test:hosts -- --write`. Starts the product, has an agent make calls that wait, and takes the pictures for the documents.

const FOLDER = packagePath('docs', 'pictures');
const FILE_SERVER = packagePath('node_modules', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js');

/** The agent's calls, the newest one last. The picture of a request shows the newest. */
const CALLS = [
  { name: 'files__create_directory', arguments: { path: 'team/archive' } },
  {
    name: 'files__edit_file',
    arguments: { path: 'limits.yaml', edits: [{ oldText: 'maxMegabytes: 50', newText: 'maxMegabytes: 200' }] },
  },
  {
    name: 'files__write_file',
    arguments: {
      path: 'november.md',
      content: '# November\n\n- Exports finish in half the time.\n- Sign-in accepts passkeys.\n',
    },
  },
];

async function openCalls(stack: Stack): Promise<OpenRequest[]> {
  const token = await stack.token('agent');
  for (const call of CALLS) await stack.rpc(token, 'tools/call', call);
  return stack.openRequests(CALLS.length);
}

/** The newest call is approved and runs. */
async function approveNewest(stack: Stack, inbox: Taker): Promise<void> {
  await inbox.press('Approve');
  await stack.openRequests(CALLS.length - 1);
  await waitFor(() => existsSync(join(stack.files, 'november.md')));
}

const browser = await launchBrowser();
await drawTerminals(browser, { from: packagePath('test', 'hosts', 'screens'), to: FOLDER, prefix: 'claude-code-' });
const stack = await startStack({
  parts: 'together',
  mcpServers: { files: { command: process.execPath, args: [FILE_SERVER, '.'], cwd: './files' } },
  config: {
    tools: {
      files__create_directory: { effect: 'write', summary: 'Make the folder {path}' },
      files__edit_file: { effect: 'write', summary: 'Edit {path}' },
      files__write_file: { effect: 'write', summary: 'Write {path}' },
    },
  },
});
try {
  const requests = await openCalls(stack);
  const inbox = await taker(browser, FOLDER, { site: stack.config.urls.approvals, name: 'alice' });
  await inbox.take('/requests', 'inbox');
  await inbox.take(`/requests/${requests.at(-1)?.id ?? ''}`, 'request', 'Approve');
  await approveNewest(stack, inbox);
  const audit = await taker(browser, FOLDER, { site: stack.config.urls.audit, name: 'olivia' });
  await audit.take('/outcome-records', 'records');
  await audit.follow('a[href*="/outcome-records/out_"]');
  await audit.takeHere('record');
} finally {
  await browser.close();
  await stack.stop();
}
