import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { listOpenRequests, type ListedRequest } from '../support/decisions.ts';
import { startStack, type Stack } from '../support/stack.ts';

export interface OverloadOptions {
  /** How long each load lasts. */
  readonly seconds: number;
  /** Calls of one load at most. */
  readonly most: number;
  readonly factors: readonly number[];
  readonly onProgress: (what: string) => void;
}

/** What became of the calls of one load. */
export interface Level {
  /** Times what the workers can end per second. */
  readonly factor: number;
  readonly offered: number;
  readonly accepted: number;
  readonly refused: number;
  /** Calls without an answer, and answers that are neither a task nor a refusal for now. */
  readonly lost: readonly string[];
  readonly executed: number;
  readonly executedPerSecond: number;
  /** Approved calls that ended without being sent, while their approval was valid. */
  readonly notSent: number;
  /** Ends of accepted calls, by state and reason. */
  readonly ends: Readonly<Record<string, number>>;
  readonly refusedP99Ms: number;
  readonly acceptedP99Ms: number;
  /** The longest time from claim to permit. */
  readonly claimToPermitMs: number;
  /** Accepted calls that are open although the load has stopped for long. */
  readonly open: number;
}

export interface OverloadFigures {
  readonly capacityPerSecond: number;
  readonly levels: readonly Level[];
}

const AGENTS = Array.from({ length: 8 }, (_, index) => `agent-${index + 1}`);
const MEASURED_CALLS = 80;
const VOTES_AT_ONCE = 8;
const POLL_MS = 200;
/** Long enough for every call that any product ends at all: the execution deadline passes several times. */
const REST_MS = 180_000;
const EXECUTION_SECONDS = 15;

/** Measures what the workers can end per second, then offers multiples of that. */
export async function runOverload({ seconds, most, factors, onProgress }: OverloadOptions): Promise<OverloadFigures> {
  onProgress('starting the product, each part a process, as in production');
  const stack = await startStack({
    parts: 'apart',
    timeLimitFactor: 1,
    config: {
      gateway: { maxOpenPerCaller: 100_000, maxOpenPerSubject: 100_000, executionTimeoutSeconds: EXECUTION_SECONDS },
      worker: { resolutionPollMinSeconds: 30, resolutionPollMaxSeconds: 60 },
      identity: {
        people: [
          ...AGENTS.map((name) => ({ name, displayName: name, roles: ['agent'] })),
          { name: 'alice', displayName: 'Alice Approver', roles: ['approver'] },
        ],
      },
    },
  });
  const voting = startVoting(stack);
  try {
    const pool = await stack.database();
    onProgress('measuring what the workers can end per second');
    await offer(stack, pool, { factor: 1, perSecond: 5, count: 20 });
    const measured = await offer(stack, pool, { factor: 1, perSecond: MEASURED_CALLS, count: MEASURED_CALLS });
    const capacityPerSecond = measured.executedPerSecond;
    const levels: Level[] = [];
    for (const factor of factors) {
      const perSecond = capacityPerSecond * factor;
      const count = Math.min(most, Math.max(1, Math.round(perSecond * seconds)));
      onProgress(`offering ${perSecond.toFixed(1)} calls a second, ${count} calls`);
      levels.push(await offer(stack, pool, { factor, perSecond, count }));
    }
    return { capacityPerSecond, levels };
  } finally {
    await voting.stop();
    await stack.stop();
  }
}

interface Answer {
  readonly kind: 'accepted' | 'refused' | 'lost';
  readonly tookMs: number;
  readonly taskId?: string;
  readonly words?: string;
}

async function offer(
  stack: Stack,
  pool: Pool,
  { factor, perSecond, count }: { factor: number; perSecond: number; count: number },
): Promise<Level> {
  const began = performance.now();
  const answers: Promise<Answer>[] = [];
  const tokens = await Promise.all(AGENTS.map((agent) => stack.token(agent)));
  for (let index = 0; index < count; index += 1) {
    await pause(Math.max(0, began + (index * 1_000) / perSecond - performance.now()));
    answers.push(call(stack, tokens[index % tokens.length] ?? '', index));
  }
  const found = await Promise.all(answers);
  const accepted = found.filter(({ kind }) => kind === 'accepted').map(({ taskId }) => String(taskId));
  const open = await rest(pool, accepted);
  const tookSeconds = (await lastEnd(pool, accepted)) - (Date.now() - (performance.now() - began)) / 1_000;
  const ends = await endsOf(pool, accepted);
  const executed = ends['executed'] ?? 0;
  const of = (kind: Answer['kind']) => found.filter((one) => one.kind === kind);
  return {
    ...{ factor, offered: count, accepted: accepted.length, refused: of('refused').length },
    lost: of('lost').map(({ words = '' }) => words),
    ...{ executed, executedPerSecond: executed / Math.max(tookSeconds, 0.001), ends, open },
    notSent: await notSentOf(pool, accepted),
    refusedP99Ms: p99(of('refused').map(({ tookMs }) => tookMs)),
    acceptedP99Ms: p99(of('accepted').map(({ tookMs }) => tookMs)),
    claimToPermitMs: await claimToPermit(pool, accepted),
  };
}

async function call(stack: Stack, token: string, index: number): Promise<Answer> {
  const began = performance.now();
  const tookMs = () => performance.now() - began;
  try {
    const path = `${stack.files}/${Date.now()}-${index}-${Math.random()}.txt`;
    const params = { name: 'files__write_file', arguments: { path, content: 'x' } };
    const { status, body, text } = await stack.rpcOnce(token, 'tools/call', params);
    const taskId = body.result?.['taskId'];
    if (typeof taskId === 'string') return { kind: 'accepted', tookMs: tookMs(), taskId };
    const isForLater = status === 429 || status === 503 || /may be repeated later/.test(text);
    return { kind: isForLater ? 'refused' : 'lost', tookMs: tookMs(), words: `${status} ${text.slice(0, 200)}` };
  } catch (error) {
    return { kind: 'lost', tookMs: tookMs(), words: String(error) };
  }
}

/** Approves every request as soon as it is listed. */
function startVoting(stack: Stack) {
  let isStopped = false;
  const voted = new Set<string>();
  const vote = async (request: ListedRequest) => {
    if (voted.has(request.id)) return;
    voted.add(request.id);
    const response = await stack.decide(request, { verdict: 'approve' }).catch(() => undefined);
    if (response?.ok !== true) voted.delete(request.id);
  };
  async function run(): Promise<void> {
    while (!isStopped) {
      const requests = await stack
        .token('alice', 'approvals')
        .then((token) => listOpenRequests(stack.config.urls.approvals, token))
        .catch(() => []);
      const queue = requests.filter(({ id }) => !voted.has(id));
      const voters = Array.from({ length: VOTES_AT_ONCE }, async () => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) await vote(next);
      });
      await Promise.all(voters);
      await pause(POLL_MS);
    }
  }
  const running = run();
  return {
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
  };
}

/** Waits until the calls have ended. Answers how many are open when it has waited for long. */
async function rest(pool: Pool, taskIds: readonly string[]): Promise<number> {
  const end = performance.now() + REST_MS;
  for (;;) {
    const text = 'SELECT count(*)::int AS n FROM gateway.gated_call WHERE task_id = ANY ($1) AND ended_at IS NULL';
    const open = (await pool.query<{ n: number }>(text, [taskIds])).rows[0]?.n ?? 0;
    if (open === 0 || performance.now() > end) return open;
    await pause(500);
  }
}

/** In seconds since 1970. */
async function lastEnd(pool: Pool, taskIds: readonly string[]): Promise<number> {
  const text = `SELECT extract(epoch FROM max(ended_at))::float8 AS at FROM gateway.gated_call WHERE task_id = ANY ($1)`;
  return (await pool.query<{ at: number }>(text, [taskIds])).rows[0]?.at ?? Date.now() / 1_000;
}

async function endsOf(pool: Pool, taskIds: readonly string[]): Promise<Record<string, number>> {
  const text = `SELECT state || coalesce(' (' || reason || ')', '') AS end, count(*)::int AS n FROM gateway.gated_call
    WHERE task_id = ANY ($1) GROUP BY 1 ORDER BY 1`;
  const { rows } = await pool.query<{ end: string; n: number }>(text, [taskIds]);
  return Object.fromEntries(rows.map(({ end, n }) => [end, n]));
}

async function notSentOf(pool: Pool, taskIds: readonly string[]): Promise<number> {
  const text = `SELECT count(*)::int AS n FROM gateway.gated_call
    WHERE task_id = ANY ($1) AND reason = 'not_sent' AND approval_expires_at > ended_at`;
  return (await pool.query<{ n: number }>(text, [taskIds])).rows[0]?.n ?? 0;
}

async function claimToPermit(pool: Pool, taskIds: readonly string[]): Promise<number> {
  const text = `SELECT coalesce(max(extract(epoch FROM i.began_at - c.claimed_at)) * 1000, 0)::float8 AS ms
    FROM gateway.gated_call g JOIN gateway.invocation i ON i.gated_call_id = g.id
    JOIN gateway.execution_claim c ON c.gated_call_id = g.id AND c.claim_id = g.claim_id WHERE g.task_id = ANY ($1)`;
  return (await pool.query<{ ms: number }>(text, [taskIds])).rows[0]?.ms ?? 0;
}

function p99(all: readonly number[]): number {
  const sorted = [...all].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0;
}
