import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { copyTemplate } from '../support/database.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

let stack!: Stack;
let pdpDatabase!: Pool;
let pdpCopy: Awaited<ReturnType<typeof copyTemplate>>;

beforeAll(async () => {
  stack = await startStack({ parts: 'apart', servers: 'shared' });
  pdpCopy = await copyTemplate();
  const { url } = pdpCopy;
  pdpDatabase = new Pool({ connectionString: url, max: 1 }).on('error', () => undefined);
  await stack.kill('pdp');
  await stack.startPart('pdp', { DATABASE_URL: url });
});
afterAll(async () => {
  await pdpDatabase?.end();
  await stack?.stop();
  await pdpCopy?.drop();
});

const write = async (path: string) => {
  const params = { name: 'files__write_file', arguments: { path, content: 'x' } };
  return (await stack.rpc(await stack.token('agent'), 'tools/call', params)).body.result;
};
const ended = async (taskId: unknown) =>
  waitFor(async () => {
    const { result } = (await stack.rpc(await stack.token('agent'), 'tasks/get', { taskId })).body;
    return result?.['status'] === 'completed' && result;
  });
const count = async (database: Pool, table: string) =>
  (await database.query<{ count: number }>(`SELECT count(*)::int FROM ${table}`)).rows[0]?.count;

it('a decision point and an access request service in two processes share only keys over HTTP, and calls run [ARAP-GEN-03, ARAP-GEN-04, ARAP-CMP-10, ARAP-CMP-20, ARAP-BND-24, ARAP-SCP-04]', async () => {
  const path = join(stack.files, 'split.txt');
  const task = await write(path);
  const [request] = await stack.openRequests(1);
  expect(existsSync(path)).toBe(false);
  expect((await stack.decide(request, { verdict: 'approve' })).ok).toBe(true);
  expect(await ended(task?.['taskId'])).toMatchObject({ result: { isError: false } });
  expect(existsSync(path)).toBe(true);

  const other = await stack.database();
  expect([await count(pdpDatabase, 'pdp.evaluation'), await count(other, 'pdp.evaluation')]).toEqual([1, 0]);
  const requests = 'approvals.access_request';
  expect([await count(pdpDatabase, requests), await count(other, requests)]).toEqual([0, 1]);
});

it('a decision point without memory recognizes an approval by its content [ARAP-GEN-04, ARAP-REV-17]', async () => {
  const path = join(stack.files, 'forgotten.txt');
  const task = await write(path);
  const [request] = await stack.openRequests(1);
  await stack.kill('pdp');
  await pdpDatabase.query('TRUNCATE pdp.evaluation');
  await stack.startPart('pdp', { DATABASE_URL: pdpDatabase.options.connectionString ?? '' });
  expect((await stack.decide(request, { verdict: 'approve' })).ok).toBe(true);
  expect(await ended(task?.['taskId'])).toMatchObject({ result: { isError: false } });
  expect(existsSync(path)).toBe(true);
});
