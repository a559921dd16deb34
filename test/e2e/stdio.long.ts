import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Browser } from 'playwright-core';
import { rawDispatchOver } from '../../apps/cli/demo/agent.ts';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { launchBrowser } from '../support/chromium.ts';
import {
  approvedEnd,
  type CallTool,
  clientInfo,
  nextStepOf,
  STEP_BY_STEP,
  wordsOf,
} from '../support/foreign-clients.ts';
import { REVISION } from '../support/gateway-wire.ts';
import { heldCalls } from '../support/held-calls.ts';
import { ASKED, TASKS, WHY } from '../support/input-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { StdioProgram } from '../support/stdio-program.ts';
import { waitFor } from '../support/wait-for.ts';

const POLICIES = `
  @id("explained-directory") @requestable("explained_change") @title("Make a folder")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "files__create_directory" && context has approval && context.approval.verified &&
    context.approval.template == "explained_change" };`;
const CAPABILITIES = { ...TASKS, elicitation: { form: {} } };

let stack!: Stack;
let browser!: Browser;
let program!: StdioProgram;
const open: { close(): Promise<unknown> }[] = [];
const { approve, writes } = heldCalls(() => stack);
beforeAll(async () => {
  const policyFiles = { 'explained_change.request.json': JSON.stringify(ASKED) };
  const config = { gateway: STEP_BY_STEP };
  stack = await startStack({ parts: 'together', servers: 'shared', config, policies: POLICIES, policyFiles });
  browser = await launchBrowser();
  const file = join(stack.folder, 'countersign.yaml');
  program = new StdioProgram({ COUNTERSIGN_CONFIG: file, COUNTERSIGN_STATE: stack.stateDir });
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
});

let count = 0;
const newPath = () => join(stack.files, `by-stdio-${(count += 1)}`);
const write = (path: string) => ({ name: 'files__write_file', arguments: { path, content: path } });
const look = { name: 'files__list_directory', arguments: { path: '' } };
const approveTheOne = async () => {
  const [request] = await stack.openRequests(1);
  if (request !== undefined) await approve(request);
};

async function connectPresent() {
  const client = new Client(clientInfo, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: { pin: REVISION } },
  });
  const transport = new StdioClientTransport(program.server());
  await client.connect(transport);
  open.push(client);
  return { client, transport };
}

/** The command lines of this program's processes. */
const commandLines = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => (existsSync(`/proc/${pid}/cmdline`) ? [readFileSync(`/proc/${pid}/cmdline`, 'latin1')] : []))
    .filter((line) => line.includes('stdio') || line.includes('/start?once='));

it('signs the person in by itself when a host starts it, and shows no secret in the list of processes', async () => {
  const connecting = connectPresent();
  await waitFor(() => program.opened.length === 1);
  const lines = commandLines();
  const address = await program.signIn(browser, 'Bob Approver');
  const { client } = await connecting;
  expect(lines.some((line) => line.includes('--sign-in'))).toBe(true);
  for (const line of lines) expect(line).not.toMatch(/state=|code_challenge|eyJ/);
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/start\?once=[\w-]{43}$/);
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toContain('files__write_file');
  expect(await client.callTool({ ...look, arguments: { path: stack.files } })).toMatchObject({ content: [{}] });
});

describe('signed in once', () => {
  it('the official present client holds a call as a task, and gets its result', async () => {
    const { client } = await connectPresent();
    const session = createTaskSessionFromClient(client, {
      endpointId: stack.config.urls.mcp,
      rawDispatch: rawDispatchOver(client),
      v2RequestFraming: { protocolVersion: REVISION, clientInfo, clientCapabilities: CAPABILITIES },
    });
    const path = newPath();
    const { name, arguments: args } = write(path);
    const execution = await session.callTool(name, args);
    if (execution.kind !== 'task') throw new Error('the call was answered without a task');
    const subscription = await client.listen({ taskIds: [String(execution.handle.taskId)] } as object);
    const settled = execution.settle();
    await approveTheOne();
    expect((await settled).outcome).toMatchObject({ status: 'completed', result: { isError: false } });
    expect(await subscription.closed).toBe('graceful');
    expect(writes(path)).toBe(1);
    await session.close();
  });

  it('a form of the gateway reaches the person at the host, and the answer the gateway', async () => {
    const { client } = await connectPresent();
    const forms: unknown[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      forms.push(params);
      return { action: 'accept' as const, content: { justification: WHY } };
    });
    const path = newPath();
    const args = { tool: 'files__create_directory', arguments: { path } };
    const requested = await client.callTool({ name: 'request_access', arguments: args });
    const end = await approvedEnd(stack, (call) => client.callTool(call), requested);
    expect([end.isError, existsSync(path), forms.length]).toEqual([false, true, 1]);
  });

  it('the official earlier client reaches the result of a held call by words', async () => {
    const client = new EarlierClient(clientInfo);
    await client.connect(new EarlierTransport(program.server()));
    open.push(client);
    const path = newPath();
    const call: CallTool = async (one) => await client.callTool(one);
    const { tool } = nextStepOf(await call(write(path)));
    const requested = await call({
      name: tool,
      arguments: { tool: 'files__write_file', arguments: write(path).arguments },
    });
    const end = await approvedEnd(stack, call, requested);
    expect([end.isError ?? false, wordsOf(end)]).toEqual([false, expect.stringContaining('Successfully wrote')]);
    expect(writes(path)).toBe(1);
  });

  it('a killed relay leaves its task, which the next one reads', async () => {
    const first = await connectPresent();
    const path = newPath();
    const dispatch = (client: Client) => (method: string, params: object) =>
      rawDispatchOver(client)({ method, params: { ...params, _meta: META } }) as Promise<{
        result: Record<string, unknown>;
      }>;
    const { result } = await dispatch(first.client)('tools/call', write(path));
    const pid = first.transport.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await waitFor(() => !isAlive(pid));
    await approveTheOne();
    const second = await connectPresent();
    const ended = await waitFor(async () => {
      const shown = (await dispatch(second.client)('tasks/get', { taskId: result['taskId'] })).result;
      return shown['status'] === 'working' ? undefined : shown;
    });
    expect(ended).toMatchObject({ status: 'completed', result: { isError: false } });
    expect(writes(path)).toBe(1);
  });

  it('the person can sign out, and is asked at the next start', async () => {
    expect(await program.run('--sign-out')).toMatchObject({
      code: 0,
      out: `Signed out at ${stack.config.urls.issuer}.\n`,
    });
    const signingIn = program.run('--sign-in');
    await program.signIn(browser, 'Bob Approver', 2);
    expect(await signingIn).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringMatching(/\nSigned in\. The tokens are in .*\.json\n$/),
    });
    const { client } = await connectPresent();
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    expect(program.opened).toHaveLength(2);
  });
});

const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
};
