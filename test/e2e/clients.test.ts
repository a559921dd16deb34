import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createTaskSessionFromClient, type TaskEnabledSession } from '@modelcontextprotocol/ext-tasks/client';
import * as z from 'zod';
import { rawDispatchOver } from '../../apps/cli/demo/agent.ts';
import { approvedEnd, clientInfo, connectEarlier, connectPresent, wordsOf } from '../support/foreign-clients.ts';
import { REVISION } from '../support/gateway-wire.ts';
import { ASKED, TASKS, WHY } from '../support/input-calls.ts';
import { heldCalls } from '../support/held-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { describeWaitingClients } from '../support/waiting-clients.ts';
import { waitFor } from '../support/wait-for.ts';

const POLICIES = `
  @id("explained-directory") @requestable("explained_change") @title("Make a folder")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "files__create_directory" && context has approval && context.approval.verified &&
    context.approval.template == "explained_change" };`;
/** Longer than any test: a client that does not poll hears of an end only by a notification. */
const NO_POLLS_MS = 3_600_000;
/** Accepts any value, for results without a schema in the client. */
const anything = z.looseObject({});
/** This client takes each step by itself. */
const STEP_BY_STEP = { name: 'step-by-step', version: '0' };
const accept = () => ({ action: 'accept' as const, content: { justification: WHY } });

let stack!: Stack;
const open: { close(): Promise<unknown> }[] = [];
const { approve, writes } = heldCalls(() => stack);
beforeAll(async () => {
  const policyFiles = { 'explained_change.request.json': JSON.stringify(ASKED) };
  const waitSeconds = { default: 300, hasty: 1, [STEP_BY_STEP.name]: 0 };
  const config = { gateway: { pollIntervalMs: NO_POLLS_MS, waitSeconds } };
  stack = await startStack({ parts: 'here', config, policies: POLICIES, policyFiles });
});
afterAll(async () => {
  for (const one of open.reverse()) await one.close();
  await stack?.stop();
});

let count = 0;
const newPath = () => join(stack.files, `of-a-present-client-${(count += 1)}`);
const write = (path: string) => ({ name: 'files__write_file', arguments: { path, content: path } });
const makeFolder = (path: string) => ({ name: 'files__create_directory', arguments: { path } });
const approveTheOne = async () => {
  const [request] = await stack.openRequests(1);
  if (request !== undefined) await approve(request);
};

async function connect(capabilities: Parameters<typeof connectPresent>[1], info = clientInfo): Promise<Client> {
  const client = await connectPresent(stack, capabilities, info);
  open.push(client);
  return client;
}

describe('the official present client', () => {
  it('shows the form that a request needs, and opens no request when it is declined', async () => {
    const client = await connect({ elicitation: { form: {} } }, STEP_BY_STEP);
    const forms: unknown[] = [];
    let isDeclined = true;
    client.setRequestHandler('elicitation/create', ({ params }) => {
      forms.push(params);
      return isDeclined ? { action: 'decline' } : accept();
    });
    const path = newPath();
    const { name: tool, arguments: args } = makeFolder(path);
    const requestAccess = () => client.callTool({ name: 'request_access', arguments: { tool, arguments: args } });
    const declined = await requestAccess();
    expect([declined.isError, wordsOf(declined)]).toEqual([
      true,
      expect.stringMatching(/Nothing was requested.*shows the form again/),
    ]);
    expect(await stack.openRequests(0)).toEqual([]);
    isDeclined = false;
    const end = await approvedEnd(stack, (call) => client.callTool(call), await requestAccess());
    expect([end.isError, existsSync(path), forms.length]).toEqual([false, true, 2]);
    expect(forms[1]).toMatchObject({ mode: 'form', requestedSchema: { required: ['justification'] } });
  });
});

describe('the official tasks client', () => {
  const clientCapabilities = { ...TASKS, elicitation: { form: {} } };
  let client!: Client;
  let session!: TaskEnabledSession;
  const forms: unknown[] = [];
  const newSession = async () => {
    const connected = await connect(clientCapabilities);
    const made = createTaskSessionFromClient(connected, {
      endpointId: stack.config.urls.mcp,
      rawDispatch: rawDispatchOver(connected),
      v2RequestFraming: { protocolVersion: REVISION, clientInfo, clientCapabilities },
      onInputRequest: async (request) => {
        forms.push(request);
        return accept() as never;
      },
    });
    open.push(made);
    return { connected, made };
  };
  beforeAll(async () => {
    ({ connected: client, made: session } = await newSession());
  });

  /** Makes a call that is answered with a task, and subscribes to it. */
  async function callAndListen({ name, arguments: args }: ReturnType<typeof write> | ReturnType<typeof makeFolder>) {
    const execution = await session.callTool(name, args);
    if (execution.kind !== 'task') throw new Error('the call was answered without a task');
    const filter = { taskIds: [String(execution.handle.taskId)] };
    return { execution, subscription: await client.listen(filter as object) };
  }

  it('gets a task, which its connection polls until the result is there', async () => {
    const path = newPath();
    const { execution } = await callAndListen(write(path));
    const params = { taskId: execution.handle.taskId };
    await execution.detach();
    const look = () => client.request({ method: 'tasks/get', params }, anything);
    expect(await look()).toMatchObject({ status: 'working', pollIntervalMs: NO_POLLS_MS });
    await approveTheOne();
    const ended = await waitFor(async () => {
      const shown = await look();
      return shown['status'] === 'working' ? undefined : shown;
    });
    expect(ended).toMatchObject({ status: 'completed', result: { isError: false } });
    expect([writes(path), readFileSync(path, 'utf8')]).toEqual([1, path]);
  });

  it('hears of the end by a notification, long before its next poll', async () => {
    const path = newPath();
    const { execution, subscription } = await callAndListen(write(path));
    const settled = execution.settle();
    await approveTheOne();
    const { outcome } = await settled;
    expect(outcome).toMatchObject({ status: 'completed', result: { isError: false } });
    expect(await subscription.closed).toBe('graceful');
    expect([writes(path), readFileSync(path, 'utf8')]).toEqual([1, path]);
  });

  it('cancels a call, hears of the cancellation, and no tool runs', async () => {
    const path = newPath();
    const { execution, subscription } = await callAndListen(write(path));
    await stack.openRequests(1);
    const settled = execution.settle();
    await execution.cancel();
    expect((await settled).outcome.status).toBe('cancelled');
    expect(await subscription.closed).toBe('graceful');
    await stack.openRequests(0);
    expect([writes(path), existsSync(path)]).toEqual([0, false]);
  });

  it('answers a form first, whose content the approver is shown, but neither the tool nor the record', async () => {
    const path = newPath();
    const { execution } = await callAndListen(makeFolder(path));
    expect(forms).toMatchObject([
      { kind: 'elicitation', params: { requestedSchema: { required: ['justification'] } } },
    ]);
    const settled = execution.settle();
    const [request] = await stack.openRequests(1);
    const answer = await fetch(`${stack.config.urls.approvals}/requests/${request?.id}`, {
      headers: { authorization: `Bearer ${await stack.token('alice', 'approvals')}`, accept: 'application/json' },
    });
    const { arguments: args } = makeFolder(path);
    expect(await answer.json()).toMatchObject({
      request: { arguments: args, requesterInput: { requester_input: { justification: WHY } } },
    });
    if (request !== undefined) await approve(request);
    expect((await settled).outcome).toMatchObject({ status: 'completed', result: { isError: false } });
    expect(existsSync(path)).toBe(true);
    const calls = stack.upstreamCalls().map((one) => one.arguments);
    expect(calls.filter((one) => one['path'] === path)).toEqual([args]);
    expect(JSON.stringify(await stack.record(String(execution.handle.taskId)))).not.toContain('Quarterly');
  });

  it('hands a task to another process, which continues from the stored reference', async () => {
    const path = newPath();
    const { execution } = await callAndListen(write(path));
    let written = '';
    await execution.handoff((reference) => void (written = JSON.stringify(reference)));
    const other = await newSession();
    const resumed = await other.made.resumeTask(JSON.parse(written) as Parameters<TaskEnabledSession['resumeTask']>[0]);
    const filter = { taskIds: [String(resumed.handle?.taskId)] };
    await other.connected.listen(filter as object);
    const settled = resumed.settle();
    await approveTheOne();
    expect((await settled).outcome).toMatchObject({ status: 'completed', result: { isError: false } });
    expect(writes(path)).toBe(1);
  });
});

it.each(['2025-11-25', 'present'] as const)(
  'a host of the revision %s opens the page of a held call, which decides nothing until a person has signed in [MRTR-046]',
  async (revision) => {
    const urls = { elicitation: { url: {} } };
    const isPresent = revision === 'present';
    const connected = isPresent
      ? await connectPresent(stack, urls)
      : (await connectEarlier(stack, revision, urls)).client;
    const client = connected as Client;
    const pages: unknown[] = [];
    const method = (isPresent ? 'elicitation/create' : ElicitRequestSchema) as 'elicitation/create';
    client.setRequestHandler(method, ({ params }) => {
      pages.push('url' in params ? params.url : undefined);
      // Many hosts decline without showing it.
      return { action: 'decline' };
    });
    const path = join(stack.files, `paged-${revision}.txt`);
    const answer = client.callTool(write(path));
    const [request] = await stack.openRequests(1);
    await waitFor(() => pages.length > 0);
    expect(pages).toEqual([`${stack.config.urls.approvals}/requests/${request?.id}`]);
    const opened = await fetch(String(pages[0]), { redirect: 'manual', headers: { accept: 'text/html' } });
    expect([opened.status, writes(path)]).toEqual([303, 0]);
    if (request !== undefined) await approve(request);
    expect(wordsOf(await answer)).toMatch(/Successfully wrote.*\nThe tool ran once/s);
    expect([pages.length, writes(path)]).toEqual([1, 1]);
    await client.close();
  },
);

describeWaitingClients(() => stack);
