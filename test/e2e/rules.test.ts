import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { heldCalls } from '../support/held-calls.ts';
import { signInTo } from '../support/signing-in.ts';
import { startStack, type Stack } from '../support/stack.ts';

let stack!: Stack;
const { end, writes } = heldCalls(() => stack);
beforeAll(async () => {
  stack = await startStack({
    parts: 'here',
    config: {
      tools: {
        files__read_text_file: { effect: 'read' },
        files__write_file: { effect: 'write' },
        files__move_file: { effect: 'write' },
        files__create_directory: { effect: 'external' },
      },
    },
    rules: [
      { allow: { server: 'files', effect: 'read' } },
      { approve: { server: 'files', effect: 'write' }, grantable: { minutes: 5, uses: 2 } },
      {
        name: 'reports',
        approve: { server: 'files', tool: 'write_file', where: { path: { like: '*/reports/*' } } },
        by: { people: 'bob' },
        description: 'Writes a report.',
      },
      { name: 'no moves', deny: 'files__move_file' },
    ],
  });
});
afterAll(() => stack?.stop());

const call = async (name: string, args: object) =>
  (await stack.rpc(await stack.token('agent'), 'tools/call', { name: `files__${name}`, arguments: args })).body;
const taskOf = (body: Awaited<ReturnType<typeof call>>) => String(body.result?.['taskId']);
const reasonOf = (body: Awaited<ReturnType<typeof call>>) => JSON.stringify(body.result?.['content']);

describe('an installation with rules and without a policy', () => {
  it('lets a call pass that a rule allows by its effect', async () => {
    writeFileSync(join(stack.files, 'a.txt'), 'hello');
    const body = await call('read_text_file', { path: join(stack.files, 'a.txt') });
    expect(body.result).toMatchObject({ content: [{ text: 'hello' }] });
  });

  it('refuses a call that a rule denies, although another rule holds it', async () => {
    expect(reasonOf(await call('move_file', { source: '/a', destination: '/b' }))).toContain(
      'no approval can change that',
    );
  });

  it('refuses a call that no rule names', async () => {
    expect(reasonOf(await call('create_directory', { path: stack.files }))).toContain('No rule permits this call');
  });

  it('holds a call that one rule holds for one approver, and runs it once', async () => {
    const path = join(stack.files, 'plain.txt');
    const taskId = taskOf(await call('write_file', { path, content: 'x' }));
    const [request] = await stack.openRequests(1);
    expect((await stack.decide(request, { verdict: 'approve' })).status).toBe(200);
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
    expect(writes(path)).toBe(1);
  });

  it('holds a call that two rules hold for the approvers of both', async () => {
    const path = join(stack.files, 'reports', 'plain.txt');
    mkdirSync(join(stack.files, 'reports'));
    const taskId = taskOf(await call('write_file', { path, content: 'x' }));
    const [request] = await stack.openRequests(1);
    expect((await stack.decide(request, { verdict: 'approve', approver: 'alice' })).status).toBe(200);
    const [again] = await stack.openRequests(1);
    expect(again?.id).toBe(request?.id);
    await stack.decide(again, { verdict: 'approve', approver: 'alice' });
    expect(await stack.openRequests(1)).toMatchObject([{ id: request?.id }]);
    expect(writes(path)).toBe(0);
    expect((await stack.decide(again, { verdict: 'approve', approver: 'bob' })).status).toBe(200);
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
    expect(writes(path)).toBe(1);
    expect(JSON.stringify(await stack.record(taskId))).toContain('"reports (approved)"');
  });

  it('runs further calls under a grant until it is used up, and each record names it', async () => {
    const folder = join(stack.files, 'granted');
    mkdirSync(folder);
    const write = async (name: string) =>
      taskOf(await call('write_file', { path: join(folder, name), content: `of ${name}` }));
    const first = await write('a.txt');
    const [request] = await stack.openRequests(1);
    const { site } = await signInTo({ site: stack.config.urls.approvals, issuer: stack.config.urls.issuer }, 'alice');
    const page = await (await site.go(`/requests/${request?.id}`)).text();
    const csrfToken = /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const form = { csrfToken, callDigest: request?.callDigest ?? '', minutes: '5', uses: '2' };
    const choices = { 'how-0': 'any', 'how-1': 'begins', 'begins-1': `${folder}/` };
    expect((await site.go(`/requests/${request?.id}/grants`, { ...form, ...choices })).status).toBe(303);
    const further = [await write('b.txt'), await write('c.txt')];
    for (const taskId of [first, ...further])
      expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
    const covered = await write('d.txt');
    const [beyond] = await stack.openRequests(1);
    await stack.decide(beyond, { verdict: 'deny' });
    expect(await end(covered)).toMatchObject({ disposition: 'denied-not-executed' });
    for (const taskId of further)
      expect(JSON.stringify(await stack.record(taskId))).toMatch(/"via":"grant","grant":"grn_/);
    expect(['a', 'b', 'c', 'd'].map((name) => writes(join(folder, `${name}.txt`)))).toEqual([1, 1, 1, 0]);
  });
});
