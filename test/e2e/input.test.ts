import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendUntilAnswered } from '../support/gateway-wire.ts';
import { accepted, answering, ASKED, questionIn, TASKS, taskOf, WHY } from '../support/input-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const POLICIES = `
  @id("explained-directory") @requestable("explained_change") @title("Make a folder")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "files__create_directory" && context has approval && context.approval.verified &&
    context.approval.template == "explained_change" };`;

let stack!: Stack;
beforeAll(async () => {
  const policyFiles = { 'explained_change.request.json': JSON.stringify(ASKED) };
  stack = await startStack({ parts: 'together', servers: 'shared', policies: POLICIES, policyFiles });
});
afterAll(() => stack?.stop());

it('input that a policy wants is asked first and shown to the approver, but not to the tool', async () => {
  const token = await stack.token('agent');
  const args = { path: `${stack.files}/asked` };
  const call = (more: object = {}) =>
    sendUntilAnswered(
      { mcpUrl: stack.config.urls.mcp },
      'tools/call',
      { name: 'files__create_directory', arguments: args, ...more },
      { token, capabilities: { ...TASKS, elicitation: {} } },
    );
  const question = questionIn(await call());
  expect(question.request?.params['requestedSchema']).toMatchObject({ required: ['justification'] });
  const task = await call(answering(question, accepted()).more);
  expect(taskOf(task)).toMatch(/^tsk_/);

  const [request] = await stack.openRequests(1);
  const answer = await fetch(`${stack.config.urls.approvals}/requests/${request?.id}`, {
    headers: { authorization: `Bearer ${await stack.token('alice', 'approvals')}`, accept: 'application/json' },
  });
  expect(await answer.json()).toMatchObject({
    request: { arguments: args, requesterInput: { requester_input: { justification: WHY } } },
  });
  expect((await stack.decide(request, { verdict: 'approve' })).ok).toBe(true);
  const ended = await waitFor(async () => {
    const { body } = await stack.rpc(token, 'tasks/get', { taskId: taskOf(task) });
    return body.result?.['status'] === 'completed' && body.result;
  });
  expect(ended).toMatchObject({ result: { isError: false } });
  expect(stack.upstreamCalls().map((one) => one.arguments)).toEqual([args]);
  expect(JSON.stringify(await stack.record(String(taskOf(task))))).not.toContain('Quarterly');
});
