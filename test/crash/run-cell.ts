import { requestOf } from '../support/sealed-calls.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { decisionBody, postSigned, type OpenRequest } from '../support/decisions.ts';
import { shortenLeases } from '../support/shorten-leases.ts';
import { patiently, waitFor } from '../support/wait-for.ts';
import type { Caller } from './caller.ts';
import { armingOf, endsAtDeadline, WANTS_TWO, type Cell, type Plan } from './cell.ts';
import { arm, disarm, firedOf, type Fired } from './failpoints.ts';
import { TOOL, type Rig } from './rig.ts';
import { stepOf } from './steps.ts';

/** One request of a client, the decision on its call, and everything that the client read of it. */
export interface Exchange {
  readonly caller: Caller;
  readonly plan: Plan;
  readonly arguments: Readonly<Record<string, string>>;
  readonly reads: Record<string, unknown>[];
  taskId: string;
}

/** The events of one run of a cell. */
export interface Run {
  readonly cell: Cell;
  readonly exchanges: readonly Exchange[];
  readonly fired: readonly Fired[];
  /** Conditions that did not come true in time. */
  readonly overdue: readonly string[];
}

/** The first two are identical calls of one caller, the third is another caller's. */
const PLANS: readonly Plan[] = [
  ...Array.from({ length: 10 }, () => 'approve' as const),
  ...([
    'approve twice',
    'approve twice',
    'race',
    'race',
    'cancel',
    'cancel',
    'deny',
    'deny',
    'lapse',
    'lapse',
  ] as const),
];
const IDENTICAL = 3;
const END_MS = 120_000;
const QUIET_MS = 60_000;
const LOOK_MS = 1_000;
const RACE_MS = 1_500;
const LIMITS_MS = 500;
/** An abandoned claim is recognised by this many looks: more than a healthy product needs. */
const CLAIM_LOOKS = 16;

/** A text that may stand only in the arguments. */
export const CANARY = 'canary-5f1d';

/**
 * Makes twenty calls at once and decides on all at once, with the cell's fault in their way. Then heals everything and
 * follows the calls to their ends.
 */
export async function runCell(rig: Rig, cell: Cell, repeat: number): Promise<Run> {
  const id = `${cell.label}-${cell.action}-${repeat}-${Date.now()}`;
  const exchanges = plannedExchanges(rig, id);
  const overdue: string[] = [];
  const { armedAt } = stepOf(cell.label);
  const armNow = () => arm(rig.failpoints, armingOf(cell, id));
  const shortenExecutions = endsAtDeadline(cell) ? abandonedExecutions(rig) : () => Promise.resolve();
  const shorten = () => Promise.all([shortenLeases(rig.database), shortenExecutions()]);
  const limits = setInterval(() => void shorten().catch(() => undefined), LIMITS_MS);
  try {
    if (armedAt === 'opening') armNow();
    await Promise.all(exchanges.map((exchange) => open(exchange)));
    if (armedAt === 'deciding') armNow();
    const decided = Promise.all(tasksOf(exchanges).map((exchange) => decide(rig, exchange)));
    await Promise.all([decided, followToTheEnd(rig, exchanges, overdue)]);
    disarm(rig.failpoints);
    await rig.healed();
    await becomeQuiet(rig, overdue);
    await Promise.all(exchanges.map(read));
  } finally {
    clearInterval(limits);
    disarm(rig.failpoints);
  }
  return { cell, exchanges, overdue, fired: firedOf(rig.failpoints, id) };
}

function plannedExchanges(rig: Rig, id: string): Exchange[] {
  return PLANS.map((plan, index) => {
    const caller = rig.callers[index < IDENTICAL ? Number(index === IDENTICAL - 1) : index % rig.callers.length];
    if (caller === undefined) throw new Error('the rig has no callers');
    const entry = `${id}/${index < IDENTICAL ? 0 : index}${plan === 'approve twice' ? WANTS_TWO : ''}`;
    return { caller, plan, arguments: { entry, secret: CANARY }, reads: [], taskId: '' };
  });
}

async function open(exchange: Exchange): Promise<void> {
  const answer = await exchange.caller.request('tools/call', { name: TOOL, arguments: exchange.arguments });
  if (typeof answer['taskId'] !== 'string') throw new Error(`no task was handed out: ${JSON.stringify(answer)}`);
  exchange.taskId = answer['taskId'];
  exchange.reads.push(answer);
}

/** Each task once, however many requests joined it. */
export function tasksOf(exchanges: readonly Exchange[]): Exchange[] {
  return [...new Map(exchanges.map((exchange) => [exchange.taskId, exchange])).values()];
}

async function decide(rig: Rig, exchange: Exchange): Promise<void> {
  const cancel = () => exchange.caller.request('tasks/cancel', { taskId: exchange.taskId });
  switch (exchange.plan) {
    case 'approve':
      return vote(rig, exchange, 'approve');
    case 'approve twice':
      await vote(rig, exchange, 'approve');
      return vote(rig, exchange, 'approve', 2);
    case 'deny':
      return vote(rig, exchange, 'deny');
    case 'cancel':
      return void (await cancel());
    case 'race':
      await vote(rig, exchange, 'approve');
      // Anywhere between the approval and the following execution.
      await pause(Math.random() * RACE_MS);
      return void (await cancel());
    case 'lapse':
      return letLapse(rig, exchange);
  }
}

/**
 * Votes on the access request of this generation as soon as it exists. A vote with a lost answer counts: then the next
 * generation may exist before the vote is repeated.
 */
async function vote(rig: Rig, { taskId }: Exchange, verdict: Verdict, generation = 1): Promise<void> {
  await patiently(
    async () => {
      const request = await requestOf({ database: rig.database, secrets: rig.secrets.secrets }, taskId);
      if (request.generation !== generation) return request.generation > generation;
      // Votes come in both ways: by message, and through the inbox.
      const isMessage = verdict === 'approve' && generation === 1;
      const answer = await (isMessage ? voteByMessage : voteInTheInbox)(rig, { taskId, request, verdict });
      return answer.status < 500;
    },
    { timeoutMs: END_MS, everyMs: 100 },
  );
}

type Verdict = 'approve' | 'deny';
interface Vote {
  readonly taskId: string;
  readonly request: OpenRequest;
  readonly verdict: Verdict;
}

function voteByMessage({ config, secrets }: Rig, { taskId, request, verdict }: Vote): Promise<Response> {
  const signing = { id: `msg_${taskId}_${request.generation}`, secret: secrets.secrets.decisionWebhookSecret };
  return postSigned(`${config.urls.approvals}/webhooks/decisions`, decisionBody(request, { verdict }), signing);
}

function voteInTheInbox({ config, approverToken }: Rig, { request, verdict }: Vote): Promise<Response> {
  const { id, generation, callDigest } = request;
  return fetch(`${config.urls.approvals}/requests/${id}/votes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${approverToken}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify({ verdict, generation, callDigest }),
  });
}

/** Moves the deadline near. The database's clock ends the call. */
async function letLapse(rig: Rig, { taskId }: Exchange): Promise<void> {
  await rig.database.query(
    `UPDATE gateway.gated_call SET request_deadline = clock_timestamp() + interval '300 ms',
       approval_expires_at = CASE WHEN approval_expires_at IS NOT NULL THEN clock_timestamp() + interval '300 ms' END
     WHERE task_id = $1 AND ended_at IS NULL`,
    [taskId],
  );
}

/**
 * Moves the deadline of executions to now after several looks. The number of looks counts, not time, since a machine
 * may stand still.
 */
function abandonedExecutions({ database }: Rig) {
  const looks = new Map<string, number>();
  return async (): Promise<void> => {
    const claimed = `SELECT id FROM gateway.gated_call WHERE state = 'claimed'`;
    const ids = (await database.query<{ id: string }>(claimed)).rows.map(({ id }) => id);
    for (const id of ids) looks.set(id, (looks.get(id) ?? 0) + 1);
    const over = ids.filter((id) => (looks.get(id) ?? 0) >= CLAIM_LOOKS);
    const text = `UPDATE gateway.gated_call SET execution_deadline = clock_timestamp() WHERE id = ANY ($1) AND state = 'claimed'`;
    if (over.length > 0) await database.query(text, [over]);
  };
}

/** Clients keep looking; the database says when nothing is left to wait for. */
async function followToTheEnd(rig: Rig, exchanges: readonly Exchange[], overdue: string[]): Promise<void> {
  const ids = exchanges.map(({ taskId }) => taskId);
  let over = false;
  const looks = exchanges.map(async (exchange) => {
    await pause(LOOK_MS);
    do {
      await read(exchange);
      if (exchange.reads.at(-1)?.['status'] !== 'working') return;
      await pause(LOOK_MS);
    } while (!over);
  });
  const open = async () =>
    (await rig.database.query('SELECT FROM gateway.gated_call WHERE task_id = ANY ($1) AND ended_at IS NULL', [ids]))
      .rowCount;
  await waitFor(async () => (await open()) === 0, { timeoutMs: END_MS, everyMs: 100 }).catch(() =>
    overdue.push('a call did not end'),
  );
  over = true;
  await Promise.all(looks);
}

async function read(exchange: Exchange): Promise<void> {
  exchange.reads.push(await exchange.caller.request('tasks/get', { taskId: exchange.taskId }));
}

/** No process has anything left to do. */
async function becomeQuiet({ database }: Rig, overdue: string[]): Promise<void> {
  const open = async () => (await database.query<{ what: string }>(OPEN_WORK)).rows.map(({ what }) => what);
  await waitFor(async () => (await open()).length === 0, { timeoutMs: QUIET_MS, everyMs: 100 }).catch(async () => {
    overdue.push(`left over: ${(await open()).join(', ')}`);
  });
}

const OPEN_WORK = `
  SELECT 'to do ' || kind AS what FROM gateway.outbox UNION ALL SELECT 'to do ' || kind FROM approvals.outbox
  UNION ALL SELECT 'gated call ' || state FROM gateway.gated_call WHERE ended_at IS NULL
  UNION ALL SELECT 'access request ' || status FROM approvals.access_request WHERE ended_at IS NULL`;
