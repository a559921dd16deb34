import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { Pool } from 'pg';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { isTerminal } from '../../workflows/domain/gated-call/gated-call.ts';
import type { Opening } from '../../workflows/domain/ports.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import type { Chance } from './chance.ts';
import { createInstance, type Instance, type Mutation, type Watch } from './instance.ts';
import type { Outside } from './outside.ts';
import { pass, type Instant } from './passing-time.ts';
import type { Scheduler } from './scheduler.ts';
import { toTheClaim } from '../support/to-the-claim.ts';

export interface Cast {
  readonly pool: Pool;
  readonly outside: Outside;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly mutation: Mutation;
  /** The call of each agent. */
  readonly openings: readonly Opening[];
  readonly trace: string[];
}

export type Actors = ReturnType<typeof createActors>;

interface OutboxRow {
  readonly id: string;
  readonly kind: string;
  readonly subject_id: string;
}

const NO_CLAIM = '00000000-0000-0000-0000-000000000000';

/** Activities fail all the time here. */
const SILENT = new DefaultLogger('ERROR', () => undefined);

/** The actors that touch the calls of one history. Each beginning is a separate process, which may crash. */
export function createActors(cast: Cast) {
  const { pool, scheduler, chance, mutation, openings } = cast;
  const tasks = new Map<string, { readonly taskId: string; readonly caller: number }>();
  const seen = new Set<string>();
  const ended = new Map<string, string>();
  const driven = new Set<string>();
  /** The claim that was made last, as the workflow knows it. */
  const claims = new Map<string, string>();
  const findings: string[] = [];
  const results = new Map<string, unknown>();
  let begun = 0;

  const surroundings = { pool, outside: cast.outside, onWorkflow: (id: string) => void driven.add(id), mutation };
  const watch: Watch = {
    async opened(opening, opened) {
      if (opened.kind !== 'opened' && opened.kind !== 'joined') return;
      const { kind, gatedCallId, taskId } = opened;
      const caller = openings.indexOf(opening);
      const siblings = [...tasks].filter(([, task]) => task.caller === caller).map(([id]) => id);
      if (kind === 'opened' && (await isAnyOpen(pool, siblings)))
        findings.push('a second call was opened beside the first');
      if ((tasks.get(gatedCallId)?.caller ?? caller) !== caller) findings.push('two agents share a call');
      tasks.set(gatedCallId, { taskId, caller });
    },
    /** An end that a client was told of stays, and no client is told to wait past a deadline. */
    async shown({ taskId, gatedCallId, state }) {
      seen.add(taskId);
      const earlier = ended.get(taskId);
      if (earlier !== undefined && earlier !== state) findings.push(`a task was ${earlier}, then ${state}`);
      if (isTerminal(state)) ended.set(taskId, state);
      else if (await isAnyDue(pool, [gatedCallId])) findings.push(`a task is shown as ${state} past its deadline`);
    },
  };
  const anyId = () => (tasks.size === 0 ? undefined : chance.oneOf([...tasks.keys()]));

  function begin(name: string, run: (instance: Instance) => Promise<unknown>): string {
    const key = `${name} ${(begun += 1)}`;
    scheduler.start(
      key,
      (fiber) => run(createInstance({ ...surroundings, watch }, fiber)),
      (end) => {
        if ('value' in end) results.set(key, end.value);
        // Failures with a name are for callers, who repeat the call; others are for developers, who fix the product.
        else if (!(end.error instanceof CountersignError)) findings.push(`${key}: ${String(end.error)}`);
      },
    );
    return key;
  }

  /** `caller`: which of the agents. */
  const toolCall = (caller = 0) =>
    begin('gateway', async ({ calls, ensureSubmitted }) => {
      const opening = openings[caller];
      if (opening === undefined) return;
      const opened = await calls.open(opening);
      if (!('taskId' in opened)) return;
      if ((await ensureSubmitted(opened)) === undefined) await calls.findTask(opened.taskId, ownerOf(opening));
      else seen.add(opened.taskId);
    });

  const onCall =
    (name: string, run: (instance: Instance, gatedCallId: string) => Promise<unknown>) =>
    (id = anyId()) =>
      id === undefined ? undefined : begin(name, (instance) => run(instance, id));

  const claim = onCall('claim', async ({ activities }, gatedCallId) => {
    const found = await toTheClaim(activities, { gatedCallId });
    if (found.kind === 'claimed') claims.set(gatedCallId, found.claimId);
    return found;
  });
  const invoke = onCall('invoke', ({ activities }, gatedCallId) =>
    new MockActivityEnvironment({}, { logger: SILENT }).run(activities.invokeTool, { gatedCallId }),
  );
  const settle = onCall('settle', ({ activities }, gatedCallId) =>
    activities.settle({ gatedCallId, claimId: claims.get(gatedCallId) ?? NO_CLAIM }),
  );
  const cancel = onCall('cancel', ({ calls }, gatedCallId) => calls.cancel(gatedCallId));
  /** Clients ask for the tasks that they were given. */
  function read(): void {
    if (seen.size === 0) return;
    const taskId = chance.oneOf([...seen]);
    const task = [...tasks.values()].find((one) => one.taskId === taskId);
    const opening = openings[task?.caller ?? 0];
    if (opening !== undefined) begin('client', ({ calls }) => calls.findTask(taskId, ownerOf(opening)));
  }

  const sweep = () =>
    mutation.sweeps === false
      ? undefined
      : begin('sweeper', async ({ due, store }) => {
          for (const id of await due.due(200)) if (tasks.has(id)) await store.expire(id);
          for (const id of await due.abandoned(0, 200))
            if (tasks.has(id)) await store.end(id, 'cancelled', 'abandoned', 'sweeper');
        });

  async function outbox(): Promise<OutboxRow[]> {
    const text = 'SELECT id, kind, subject_id FROM gateway.outbox WHERE subject_id = ANY ($1) ORDER BY id';
    return (await pool.query<OutboxRow>(text, [[...tasks.keys()]])).rows;
  }
  const handle = ({ id, kind, subject_id }: OutboxRow) =>
    begin(`outbox, ${kind}`, async ({ handlers, drop }) => {
      await handlers[kind as keyof typeof handlers](subject_id);
      // A row whose deletion is lost is handled again.
      await drop(id);
    });
  async function deliver(): Promise<void> {
    const rows = await outbox();
    if (rows.length > 0) handle(chance.oneOf(rows));
  }

  async function wait(instant: Instant, id = anyId()): Promise<void> {
    if (id === undefined) return;
    cast.trace.push(instant);
    await pass(pool, instant, id);
  }

  return {
    ...{ toolCall, claim, invoke, settle, cancel, read, sweep, deliver, wait, outbox, handle },
    ids: () => [...tasks.keys()],
    callerOf: (id: string) => tasks.get(id)?.caller ?? 0,
    seenTaskIds: () => [...seen],
    findings: () => findings,
    find: (words: string) => void findings.push(words),
    isDriven: (id: string) => driven.has(id),
    resultOf: (key: string) => results.get(key),
    stateOf: async (id: string) =>
      (
        await pool.query<{ state: Parameters<typeof isTerminal>[0] }>(
          'SELECT state FROM gateway.gated_call WHERE id = $1',
          [id],
        )
      ).rows[0]?.state ?? 'failed',
  };
}

const ownerOf = (opening: Opening) => ownerKey(opening.binding.caller);

const isAnyOpen = (pool: Pool, ids: readonly string[]) => isAny(pool, ids, 'ended_at IS NULL');
const isAnyDue = (pool: Pool, ids: readonly string[]) => isAny(pool, ids, 'due_at <= clock_timestamp()');

async function isAny(pool: Pool, ids: readonly string[], condition: string): Promise<boolean> {
  const text = `SELECT 1 FROM gateway.gated_call WHERE id = ANY ($1::uuid[]) AND ${condition}`;
  return ((await pool.query(text, [ids])).rowCount ?? 0) > 0;
}
