import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { csrfTokenIn, wordsOf } from '../support/pages.ts';
import { signInTo } from '../support/signing-in.ts';
import type { OpenRequest } from '../support/decisions.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { allTaskIds, sealedDatabase, taskIdOf } from '../support/artefacts.ts';
import { approvalArtefacts } from '../support/sealed-calls.ts';
import { recordingFetch } from '../support/recording-fetch.ts';
import { type Agent, connectAgent } from '../../apps/cli/demo/agent.ts';

const REASON = 'canary-reason-7391';
/** The digest of the preview on a page. */
const digestIn = (page: string) => /Digest of the answer(sha-256:[0-9a-f]{64})/.exec(page)?.[1];

describe('the whole product, driven by the official tasks client', () => {
  let stack!: Stack;
  let agent: Agent;
  const wire = recordingFetch();
  beforeAll(async () => {
    const preview = { dryRun: { argument: 'dryRun' } };
    stack = await startStack({
      parts: 'here',
      config: { tools: { files__edit_file: { preview } } },
    });
    agent = await connectAgent(stack.config.urls.mcp, await stack.token('agent'), wire.fetch);
  });
  afterAll(async () => {
    await agent.close();
    await stack.stop();
  });

  const writesOf = (path: string) =>
    stack.upstreamCalls().filter((call) => call.name === 'write_file' && call.arguments['path'] === path);

  /** The page of a request in the browser of an approver, who reads it and sends its forms. */
  async function pageOf(request: OpenRequest | undefined) {
    const { approvals, issuer } = stack.config.urls;
    const { site } = await signInTo({ site: approvals, issuer }, 'alice');
    const path = `/requests/${request?.id}`;
    const read = async () => (await site.go(path)).text();
    return {
      read,
      async send(form: '/votes' | '/preview', fields: Record<string, string> = {}): Promise<void> {
        const page = await read();
        const preview = /name="preview" value="([^"]+)"/.exec(page)?.[1];
        const hidden = {
          csrfToken: csrfTokenIn(page),
          callDigest: request?.callDigest ?? '',
          ...(preview && { preview }),
        };
        const answer = await site.go(`${path}${form}`, { ...hidden, ...fields });
        expect(answer.status).toBe(303);
      },
    };
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

  it('holds a write until a person approves it on its page, then runs it once [APPR-217, DENIAL-021]', async () => {
    const path = join(stack.files, 'approved-on-its-page.txt');
    const content = 'exactly these bytes: “ä” \u202e <b>not markup</b>\n';
    const statuses: string[] = [];
    const called = agent.call('files__write_file', { path, content }, (task) => statuses.push(task.status));
    const [request] = await stack.openRequests(1);
    expect(existsSync(path)).toBe(false);

    const page = await pageOf(request);
    await page.send('/votes', { verdict: 'approve', reason: REASON });
    expect(wordsOf(await page.read())).toMatch(/you approved this/i);

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

    const page = await pageOf(request);
    const before = wordsOf(await page.read());
    expect(before).toContain(' one\n-two\n+2nd &lt;b>\n three');
    expect(wire.received()).not.toContain('+2nd');
    const digest = digestIn(before);
    writeFileSync(path, 'zero\none\ntwo\nthree\n');
    await page.send('/preview');
    const after = wordsOf(await page.read());
    expect(after).toContain('The server says something else than at');
    expect(after).toContain(' zero\n one\n-two\n+2nd &lt;b>\n three');
    const again = digestIn(after);
    await page.send('/votes', { verdict: 'approve' });
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
