import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/chromium.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { allTaskIds, sealedDatabase, taskIdOf } from '../support/artefacts.ts';
import { approvalArtefacts } from '../support/sealed-calls.ts';
import { recordingFetch } from '../support/recording-fetch.ts';
import { type Agent, connectAgent } from '../../apps/cli/demo/agent.ts';

const REASON = 'canary-reason-7391';

describe('the whole product, driven by the official tasks client', () => {
  let stack!: Stack;
  let agent: Agent;
  let browser: Browser;
  const wire = recordingFetch();
  beforeAll(async () => {
    const preview = { dryRun: { argument: 'dryRun' } };
    stack = await startStack({
      parts: 'here',
      config: { tools: { files__edit_file: { preview } } },
    });
    agent = await connectAgent(stack.config.urls.mcp, await stack.token('agent'), wire.fetch);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await agent.close();
    await browser.close();
    await stack.stop();
  });

  const writesOf = (path: string) =>
    stack.upstreamCalls().filter((call) => call.name === 'write_file' && call.arguments['path'] === path);

  /** A page of the inbox in the browser of an approver. */
  async function signedInPage(path: string): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${stack.config.urls.approvals}/requests`);
    await page.getByRole('button', { name: /alice/i }).click();
    await page.waitForURL('**/requests');
    await page.goto(`${stack.config.urls.approvals}${path}`);
    return page;
  }

  it('lists the tools of the upstream under its prefix', async () => {
    expect(await agent.toolNames()).toEqual(expect.arrayContaining(['files__read_text_file', 'files__write_file']));
  });

  it('passes an allowed read at once', async () => {
    const path = join(stack.files, 'hello.txt');
    writeFileSync(path, 'Grüße aus der Datei');
    const answer = await agent.call('files__read_text_file', { path });
    expect(answer).toMatchObject({ status: 'completed', isError: false, text: 'Grüße aus der Datei' });
    expect(answer.taskId).toBeUndefined();
  });

  it('holds a write until a person approves it in the browser, then runs it once [APPR-217, DENIAL-021]', async () => {
    const path = join(stack.files, 'approved-in-browser.txt');
    const content = 'exactly these bytes: “ä” \u202e <b>not markup</b>\n';
    const statuses: string[] = [];
    const called = agent.call('files__write_file', { path, content }, (task) => statuses.push(task.status));
    const [request] = await stack.openRequests(1);
    expect(existsSync(path)).toBe(false);

    const page = await signedInPage(`/requests/${request?.id}`);
    await page.getByLabel('Reason', { exact: true }).fill(REASON);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page
      .getByRole('status')
      .getByText(/you approved this/i)
      .waitFor();

    const answer = await called;
    expect(answer).toMatchObject({ status: 'completed', isError: false });
    expect(statuses).toContain('working');
    expect(readFileSync(path, 'utf8')).toBe(content);
    expect(writesOf(path)).toHaveLength(1);
    const record = await stack.record(answer.taskId);
    expect(record).toMatchObject({ disposition: 'approved-executed', sealIntact: true });
  });

  it('shows the approver the diff of an edit before it is made, and records its digest', async () => {
    const path = join(stack.files, 'edited.txt');
    writeFileSync(path, 'one\ntwo\nthree\n');
    const edits = [{ oldText: 'two', newText: '2nd <b>' }];
    const called = agent.call('files__edit_file', { path, edits, dryRun: false });
    const [request] = await stack.openRequests(1);
    const editsOf = () => stack.upstreamCalls().filter((call) => call.name === 'edit_file');
    expect(editsOf()).toMatchObject([{ arguments: { dryRun: true }, _meta: { 'dev.countersign/preview': true } }]);
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\nthree\n');

    const page = await signedInPage(`/requests/${request?.id}`);
    const shown = page.getByRole('region', { name: 'What the server says' });
    expect(await shown.textContent()).toMatch(/^ one\n-two\n\+2nd <b>\n three$/m);
    expect(wire.received()).not.toContain('+2nd');
    const digestOf = () =>
      page
        .getByText(/^sha-256:/)
        .first()
        .innerText();
    const digest = await digestOf();
    writeFileSync(path, 'zero\none\ntwo\nthree\n');
    await page.getByRole('button', { name: 'Take the preview again' }).click();
    await page.getByText('The server says something else than at').waitFor();
    expect(await shown.textContent()).toMatch(/^ zero\n one\n-two\n\+2nd <b>\n three$/m);
    const again = await digestOf();
    const approve = page.getByRole('button', { name: 'Approve' });
    // The buttons work once they were visible for a moment.
    await approve.scrollIntoViewIfNeeded();
    await approve.click();
    expect(await called).toMatchObject({ status: 'completed', isError: false });
    expect(readFileSync(path, 'utf8')).toBe('zero\none\n2nd <b>\nthree\n');
    expect(editsOf().map((call) => call.arguments['dryRun'])).toEqual([true, true, false]);
    const recorded = await stack.record((await called).taskId);
    expect(recorded).toMatchObject({
      record: {
        previews: [
          { tool: 'files__edit_file', said: { isError: false, digest } },
          { tool: 'files__edit_file', said: { isError: false, digest: again } },
        ],
        accessRequests: [{ statement: { votes: [{ via: 'inbox', preview: again }] } }],
      },
      answers: { contradictions: [] },
    });
  });

  it('runs a write once after an approval through the signed webhook [APPR-217]', async () => {
    const path = join(stack.files, 'approved-by-webhook.txt');
    const called = agent.call('files__write_file', { path, content: 'webhook' });
    const [request] = await stack.openRequests(1);
    const response = await stack.decide(request, { verdict: 'approve', reason: REASON });
    expect(response.status).toBe(200);
    expect(await called).toMatchObject({ status: 'completed', isError: false });
    expect(readFileSync(path, 'utf8')).toBe('webhook');
    expect(writesOf(path)).toHaveLength(1);
  });

  it('does not run a denied call [APPR-212, AT-3]', async () => {
    const path = join(stack.files, 'denied.txt');
    const called = agent.call('files__write_file', { path, content: 'no' });
    const [request] = await stack.openRequests(1);
    await stack.decide(request, { verdict: 'deny', reason: REASON });
    const answer = await called;
    expect(answer).toMatchObject({ status: 'completed', isError: true });
    expect(answer.text).toMatch(/did not run/);
    expect(existsSync(path)).toBe(false);
    expect(writesOf(path)).toHaveLength(0);
    expect(await stack.record(answer.taskId)).toMatchObject({ disposition: 'denied-not-executed' });
  });

  it('refuses a move for good', async () => {
    const answer = await agent.call('files__move_file', { source: '/a', destination: '/b' });
    expect(answer).toMatchObject({ status: 'completed', isError: true });
    expect(answer.taskId).toBeUndefined();
    expect(answer.text).toMatch(/did not run/);
  });

  it('shows a task only to its owner, and answers others like an unknown id', async () => {
    const opened = agent.call('files__write_file', { path: join(stack.files, 'foreign.txt'), content: 'x' });
    const [request] = await stack.openRequests(1);
    const taskId = await taskIdOf(stack, request?.id);
    const foreign = await stack.token('bob');
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const params = method === 'tasks/update' ? { inputResponses: {} } : {};
      const theirs = await stack.rpc(foreign, method, { taskId, ...params });
      const unknown = await stack.rpc(foreign, method, { taskId: `tsk_${'0'.repeat(32)}`, ...params });
      expect(theirs.body.error).toMatchObject({ code: -32602 });
      expect(theirs.body.error).toEqual(unknown.body.error);
      expect(theirs.status).toBe(unknown.status);
    }
    await stack.rpc(await stack.token('agent'), 'tasks/cancel', { taskId });
    expect(await opened).toMatchObject({ status: 'cancelled' });
  });

  it('sends the agent no part of the approval [APPR-215, DENIAL-030]', async () => {
    const secrets = await approvalArtefacts(await sealedDatabase(stack), await allTaskIds(stack));
    expect(secrets.length).toBeGreaterThan(10);
    const bytes = wire.received();
    expect(bytes).toContain('approved-executed');
    for (const secret of [...secrets, REASON, 'alice', 'Alice']) expect(bytes).not.toContain(secret);
  });
});
