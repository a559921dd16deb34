import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendUntilAnswered } from '../support/gateway-wire.ts';
import { accepted, ASKED, TASKS, taskOf, WHY } from '../support/input-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

/** Policies added while a call waits: they require one more approval, with a form for its request. */
const STRICTER = {
  'second_signature.request.json': JSON.stringify(ASKED),
  'test.cedar': `
  @id("second-signature") @requestable("second_signature") @title("Make a folder")
  forbid (principal, action == Action::"tools/call", resource)
  when { resource.id == "files__create_directory" }
  unless { context has approval && context.approval.verified && context.approval.template == "second_signature" };
  @id("signed-twice") @requestable("second_signature")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "files__create_directory" && context has approval && context.approval.verified &&
    context.approval.template == "second_signature" };`,
};

let stack!: Stack;
beforeAll(async () => {
  stack = await startStack({ parts: 'apart', servers: 'shared' });
});
afterAll(() => stack?.stop());

it('input that a further approval needs is asked of the task and shown to the approver, but not to the tool [APPR-216]', async () => {
  const token = await stack.token('agent');
  const ask = (method: string, params: Record<string, unknown>) =>
    sendUntilAnswered({ mcpUrl: stack.config.urls.mcp }, method, params, {
      token,
      capabilities: { ...TASKS, elicitation: {} },
    });
  const args = { path: `${stack.files}/asked-again` };
  const taskId = String(taskOf(await ask('tools/call', { name: 'files__create_directory', arguments: args })));
  const shown = (status: string) =>
    waitFor(async () => {
      const { result } = (await ask('tasks/get', { taskId })).body;
      return result?.['status'] === status && result;
    });

  for (const [name, text] of Object.entries(STRICTER)) writeFileSync(join(stack.folder, 'policies', name), text);
  await stack.kill('pdp');
  await stack.startPart('pdp');
  const [first] = await stack.openRequests(1);
  expect((await stack.decide(first, { verdict: 'approve' })).ok).toBe(true);

  const [[key = '', question] = []] = Object.entries(
    ((await shown('input_required')) as Record<string, unknown>)['inputRequests'] as object,
  );
  expect(question).toMatchObject({ params: { requestedSchema: { required: ['justification'] } } });
  expect(stack.upstreamCalls()).toEqual([]);
  await ask('tasks/update', { taskId, inputResponses: { [key]: accepted() } });

  const [second] = await stack.openRequests(1);
  expect(second?.id).not.toBe(first?.id);
  const answer = await fetch(`${stack.config.urls.approvals}/requests/${second?.id}`, {
    headers: { authorization: `Bearer ${await stack.token('alice', 'approvals')}`, accept: 'application/json' },
  });
  expect(await answer.json()).toMatchObject({
    request: { arguments: args, requesterInput: { requester_input: { justification: WHY } } },
  });
  expect((await stack.decide(second, { verdict: 'approve' })).ok).toBe(true);

  expect(await shown('completed')).toMatchObject({ result: { isError: false } });
  expect(stack.upstreamCalls().map((one) => one.arguments)).toEqual([args]);
  const record = await stack.record(taskId);
  expect((record['record'] as { transitions: unknown }).transitions).toMatchObject([
    { to: 'preparing' },
    { to: 'pending' },
    { to: 'granted' },
    { to: 'input_required', cause: 'input_needed' },
    { to: 'granted', cause: 'input_given' },
    { to: 'pending', cause: 'requested_again' },
    { to: 'granted' },
    { to: 'claimed' },
    { to: 'executed' },
  ]);
  expect(JSON.stringify(record)).not.toContain('Quarterly');
});
