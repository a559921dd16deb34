import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PoolClient } from 'pg';
import { packagePath } from '../../apps/shared/config/files.ts';
import { timesLogged } from '../support/artefacts.ts';
import { databaseUrl, engineAddress } from '../support/copies.ts';
import type { OpenRequest } from '../support/decisions.ts';
import { outboxesAreEmpty } from '../support/outboxes.ts';
import { DEPLOYABLES, startStack, type Part, type Stack } from '../support/stack.ts';
import { patiently } from '../support/wait-for.ts';

/** Machines may be slow, and a restart leaves much work at once. */
export const PATIENCE = { timeoutMs: 180_000, everyMs: 250 };

/** Added to the example policies once the calls are open: a second approval where the path says so. */
const TWICE = `
  @id("second-signature") @requestable("second_signature") @title("Write twice approved")
  forbid (principal, action == Action::"tools/call", resource)
  when { resource.id == "files__write_file" && context has arguments && context.arguments has path &&
    context.arguments.path like "*twice*" }
  unless { context has approval && context.approval.verified && context.approval.template == "second_signature" };
  @id("signed-twice") @requestable("second_signature")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "files__write_file" && context has approval && context.approval.verified &&
    context.approval.template == "second_signature" };`;

export type Installation = Awaited<ReturnType<typeof install>>;

/** The product on its own servers, with a template that needs two people, and the operations of drills on it. */
export async function install() {
  const stages = [{ name: 'two', approvers: { people: ['alice', 'bob'] }, quorum: 2 }];
  const stack = await startStack({
    parts: 'apart',
    timeLimitFactor: 1,
    config: {
      approvals: {
        templates: { operator_approval: { stages }, second_signature: { stages } },
        webhookApprovers: ['alice', 'bob'],
      },
      identity: {
        people: [
          { name: 'agent', roles: ['agent'] },
          { name: 'alice', roles: ['approver'] },
          { name: 'bob', roles: ['approver'] },
          { name: 'olivia', roles: ['auditor'] },
        ],
      },
      worker: { abandonAfterSeconds: 3_600 },
    },
  });
  return { stack, ...votes(stack), ...calls(stack), ...rows(stack), ...parts(stack), ...commands(stack) };
}

function parts(stack: Stack) {
  return {
    stop: () => Promise.all(DEPLOYABLES.map((part) => stack.kill(part))),
    start: () => Promise.all(DEPLOYABLES.map((part) => stack.startPart(part))),
    kill: (part: Part) => stack.kill(part),
    startPart: (part: Part) => stack.startPart(part),
    /** From now on, a call with `twice` in its path needs two approvals. */
    async demandTwo(): Promise<void> {
      writeFileSync(join(stack.folder, 'policies', 'test.cedar'), TWICE);
      await stack.kill('pdp');
      await stack.startPart('pdp');
    },
    alarms: () => timesLogged(stack, '"alarm":"restored"', 'worker'),
  };
}

function calls(stack: Stack) {
  const rpc = async (method: string, params: Record<string, unknown>) =>
    (await stack.rpcOnce(await stack.token('agent'), method, params)).body.result;
  const write = (path: string) => ({ name: 'files__write_file', arguments: { path, content: path } });
  return {
    /** Makes the call, and repeats it as long as it is told to; answers the task. */
    open: (path: string): Promise<string> =>
      patiently(async () => (await rpc('tools/call', write(path)))?.['taskId'] as string | undefined, PATIENCE),
    /** Makes the call once, and ignores a failure. */
    tryToOpen: async (path: string) => void (await rpc('tools/call', write(path))),
    cancel: (taskId: string) => patiently(() => rpc('tasks/cancel', { taskId }), PATIENCE),
    statusOf: async (taskId: string) => (await rpc('tasks/get', { taskId }))?.['status'] as string | undefined,
    writes: (path: string) => stack.upstreamCalls().filter((call) => call.arguments['path'] === path).length,
  };
}

function votes(stack: Stack) {
  const vote = async (request: OpenRequest, approver: string, verdict: 'approve' | 'deny') => {
    const answer = await stack.decide(request, { verdict, approver });
    if (answer.status >= 500) throw new Error(`a vote was answered with ${answer.status}`);
  };
  return {
    vote,
    async approve(request: OpenRequest): Promise<void> {
      for (const approver of ['alice', 'bob']) await vote(request, approver, 'approve');
    },
    /** The open requests that approvers are asked about. */
    async pendingRequests(): Promise<OpenRequest[]> {
      const text = `SELECT id, generation, call_digest AS "callDigest" FROM approvals.access_request WHERE status = 'pending'`;
      return (await (await stack.database()).query<OpenRequest>(text)).rows;
    },
  };
}

function rows(stack: Stack) {
  const query = async <Row extends object>(text: string, values: unknown[] = []) =>
    (await (await stack.database()).query<Row>(text, values)).rows;
  return {
    query,
    /** Waits until no outside work is left. The work of a process that was killed is taken up at once. */
    async nothingIsLeft(): Promise<void> {
      for (const schema of ['gateway', 'approvals'])
        await query(
          `UPDATE ${schema}.outbox SET available_at = clock_timestamp() WHERE available_at > clock_timestamp()`,
        );
      await outboxesAreEmpty(await stack.database(), PATIENCE);
    },
    /** The state of the call for this path, by its task. */
    stateOf: async (taskId: string) =>
      (await query<{ state: string }>('SELECT state FROM gateway.gated_call WHERE task_id = $1', [taskId]))[0]?.state,
    /** Holds all permits back until the answer is called. */
    async withholdPermits(): Promise<() => Promise<void>> {
      const client: PoolClient = await (await stack.database()).connect();
      await client.query('BEGIN; LOCK TABLE gateway.invocation IN EXCLUSIVE MODE');
      return async () => {
        // A statement of a dead process would still run as soon as it gets the lock.
        await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE wait_event_type = 'Lock' AND application_name LIKE 'countersign%'`);
        await client.query('COMMIT');
        client.release();
      };
    },
  };
}

interface Finding {
  readonly name: string;
  readonly status: string;
}

function commands(stack: Stack) {
  const cli = async (...args: string[]) => {
    const env = {
      ...{ ...process.env, COUNTERSIGN_STATE: stack.stateDir },
      ...{ DATABASE_URL: await databaseUrl(stack), TEMPORAL_ADDRESS: engineAddress(stack) },
    };
    const main = packagePath('dist', 'apps', 'cli', 'main.js');
    return promisify(execFile)(process.execPath, [main, ...args], { cwd: stack.folder, env });
  };
  return {
    reconcile: async (temporal: 'kept' | 'lost'): Promise<Record<string, number>> => {
      const { stdout } = await cli('reconcile', '--after-restore', '--temporal', temporal, '--json');
      return JSON.parse(stdout) as Record<string, number>;
    },
    /** The result of `doctor` for restores: `ok` or `fail`. */
    async doctor(): Promise<string | undefined> {
      const { stdout } = await cli('doctor', '--json').catch((error: unknown) => error as { stdout: string });
      const { findings } = JSON.parse(stdout) as { findings: Finding[] };
      return findings.find(({ name }) => name === 'restore')?.status;
    },
  };
}
