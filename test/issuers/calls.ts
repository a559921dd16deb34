/** Calls of tools, as the steps make them with tokens of Keycloak. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { waitFor } from '../support/wait-for.ts';
import type { Scene } from './scene.ts';

export interface HeldCall {
  readonly taskId: string;
  readonly path: string;
  readonly token: string;
}

/** Makes a call that waits for an approval. */
export async function hold({ stack }: Scene, token: string): Promise<HeldCall> {
  const path = join(stack.files, `${randomUUID()}.txt`);
  const call = { name: 'files__write_file', arguments: { path, content: path } };
  const { body } = await stack.rpc(token, 'tools/call', call);
  const taskId = body.result?.['taskId'];
  assert.equal(typeof taskId, 'string', `the call is not held: ${JSON.stringify(body)}`);
  return { taskId: String(taskId), path, token };
}

export const statusOf = async ({ stack }: Scene, { token, taskId }: HeldCall) =>
  (await stack.rpc(token, 'tasks/get', { taskId })).body.result?.['status'];

/** Waits until an approved call has ended. It ran once. */
export async function ranOnce(scene: Scene, call: HeldCall): Promise<void> {
  await waitFor(async () => (await statusOf(scene, call)) === 'completed');
  const writes = scene.stack.upstreamCalls().filter(({ arguments: { path } }) => path === call.path);
  assert.equal(writes.length, 1);
}
