import { join } from 'node:path';
import { decisionBody, type OpenRequest } from '../support/decisions.ts';
import { requestOf, type SealedDatabase } from '../support/sealed-calls.ts';
import type { Stack } from '../support/stack.ts';
import { patiently } from '../support/wait-for.ts';

/** The fate of a call: an approver approves or denies it, its agent gives it up, or both at the same moment. */
const FATES = ['approve', 'approve', 'approve', 'approve', 'deny', 'cancel', 'race'] as const;
export type Fate = (typeof FATES)[number];

export interface Life {
  readonly path: string;
  readonly fate: Fate;
  readonly taskId: string;
  /** Status and disposition, as its agent read them. */
  readonly end: string;
}

/** Longer than any fault, and than the limit on an execution. */
const PATIENCE = { timeoutMs: 120_000, everyMs: 500 };
const DISPOSITION = 'io.modelcontextprotocol/tool-approval-disposition';

/** One call from its request to its end, through any fault. */
export async function live(stack: Stack, of: SealedDatabase, call: { index: number; agent: string }): Promise<Life> {
  const { index, agent } = call;
  const path = join(stack.files, `soak-${index}.txt`);
  const fate = FATES[index % FATES.length] ?? 'approve';
  const rpc = async (method: string, params: Record<string, unknown>) => {
    const { body } = await stack.rpcOnce(await stack.token(agent), method, params);
    if (body.result === undefined) throw new Error(JSON.stringify(body));
    return body.result;
  };
  const write = { name: 'files__write_file', arguments: { path, content: path } };
  const taskId = await step('its task', async () => {
    const result = await rpc('tools/call', write);
    if (typeof result['taskId'] !== 'string') throw new Error(JSON.stringify(result));
    return result['taskId'];
  });
  const request = await step('its request', () => requestOf(of, taskId));
  const cancel = () => step('its cancellation', () => rpc('tasks/cancel', { taskId }));
  if (fate === 'cancel') await cancel();
  else if (fate === 'race') await Promise.all([decide(stack, request, 'approve'), cancel()]);
  else await decide(stack, request, fate);
  const end = await step(`its end (${fate}, task ${taskId})`, async () => {
    const task = await rpc('tasks/get', { taskId });
    return task['status'] === 'working' ? undefined : endOf(task);
  });
  return { path, fate, taskId, end };
}

/** Repeats one step of a life until it succeeds. An error names the step; its causes end with the last failure. */
const step = <T>(what: string, attempt: () => Promise<T | undefined>): Promise<NonNullable<T>> =>
  patiently(attempt, PATIENCE).catch((cause: unknown) => {
    throw new Error(`the call still waits for ${what}`, { cause });
  });

/** Sends one message until it has a final answer. */
async function decide(stack: Stack, request: OpenRequest, verdict: 'approve' | 'deny'): Promise<void> {
  const id = `msg_${request.id}`;
  await step(`the answer to its decision (${verdict})`, async () => {
    const answer = await stack.postDecision(decisionBody(request, { verdict }), { id, at: new Date() });
    if (answer.status >= 500) throw new Error(`status ${answer.status}`);
    return true;
  });
}

export function endOf(task: Record<string, unknown>): string {
  const result = task['result'] as { _meta?: Record<string, unknown> } | undefined;
  const disposition = result?._meta?.[DISPOSITION];
  return typeof disposition === 'string' ? disposition : String(task['status']);
}

const ENDS: Readonly<Record<Fate, readonly string[]>> = {
  approve: ['approved-executed', 'outcome-unknown', 'execution-error'],
  deny: ['denied-not-executed'],
  cancel: ['cancelled'],
  race: ['approved-executed', 'outcome-unknown', 'execution-error', 'cancelled'],
};
const WRITES: Readonly<Record<string, readonly number[]>> = {
  'approved-executed': [1],
  // The tool step was lost: the call may have arrived, once. Or provably it was not sent.
  'outcome-unknown': [0, 1],
  'execution-error': [0],
};

/** The fault of this life, if there is one: its end, or the number of calls of its tool. */
export function wrongWith({ fate, end, path }: Life, writes: number): string | undefined {
  const isRight = ENDS[fate].includes(end) && (WRITES[end] ?? [0]).includes(writes);
  return isRight ? undefined : `${path}: ${fate}, then ${end}, with ${writes} writes`;
}
