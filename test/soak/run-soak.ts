import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { checkInvariants, type Violation } from '../invariants/check-invariants.ts';
import { sealedDatabase } from '../support/artefacts.ts';
import { arrivalsAt } from '../support/file-server.ts';
import { outboxesAreEmpty } from '../support/outboxes.ts';
import { everySoOften } from '../support/postgres-faults.ts';
import { sealsOf, type SealedDatabase } from '../support/sealed-calls.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { anyFault } from './faults.ts';
import { endOf, live, wrongWith, type Life } from './lives.ts';
import { OBSERVABLE, watchResources, type Drift } from './resources.ts';

export interface SoakOptions {
  readonly seconds: number;
  readonly callsPerSecond: number;
  readonly faultEverySeconds: number;
  readonly onProgress: (what: string) => void;
}

export interface SoakFigures {
  readonly calls: number;
  readonly ends: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  /** Lives with a forbidden outcome. */
  readonly wrong: readonly string[];
  readonly violations: readonly Violation[];
  readonly drifts: readonly Drift[];
}

const AGENTS = Array.from({ length: 8 }, (_, index) => ({
  name: `agent-${index + 1}`,
  displayName: `Agent ${index + 1}`,
  roles: ['agent'],
}));
/** Calls under way at the same moment. Beyond it, a call begins only after another has ended. */
const MOST_AT_ONCE = 300;
const SAMPLE_MS = 5_000;
const PROGRESS_MS = 60_000;

/** Makes calls at a steady pace for this long during one fault after another, then checks all of them. */
export async function runSoak(options: SoakOptions): Promise<SoakFigures> {
  options.onProgress('starting the product, each part a process, as in production');
  const stack = await startStack({
    parts: 'apart',
    timeLimitFactor: 1,
    environments: { gateway: OBSERVABLE, worker: OBSERVABLE },
    config: {
      gateway: { maxOpenPerCaller: 10_000, executionTimeoutSeconds: 60 },
      worker: { resolutionPollMinSeconds: 5, resolutionPollMaxSeconds: 60 },
      identity: { people: [...AGENTS, { name: 'alice', displayName: 'Alice Approver', roles: ['approver'] }] },
    },
  });
  const of = await sealedDatabase(stack);
  const resources = watchResources(stack, of.database);
  const faults: Awaited<ReturnType<typeof anyFault>>[] = [];
  const everyMs = options.faultEverySeconds * 1_000;
  const failing = everySoOften(async () => void faults.push(await anyFault(stack, of.database)), {
    fromMs: Math.round(everyMs * 0.75),
    toMs: Math.round(everyMs * 1.25),
  });
  const watching = everySoOften(() => resources.sample(), { fromMs: SAMPLE_MS, toMs: SAMPLE_MS });
  try {
    const { lives, wrong } = await makeCalls(stack, of, { ...options, faults: () => faults.length });
    await Promise.all([failing.stop(), watching.stop()]);
    options.onProgress(`${lives.length} calls have ended; looking at all of them`);
    wrong.push(...(await wrongAmong(stack, lives)));
    const violations = await violationsIn(stack, of, { lives, faults });
    return {
      calls: lives.length,
      ...{ wrong, violations, drifts: resources.drifts() },
      ends: counted(lives.map(({ end }) => end)),
      faults: counted(faults.map(({ name }) => name)),
    };
  } finally {
    await Promise.allSettled([failing.stop(), watching.stop()]);
    await stack.stop();
  }
}

async function makeCalls(
  stack: Stack,
  of: SealedDatabase,
  { seconds, callsPerSecond, onProgress, faults }: SoakOptions & { faults: () => number },
) {
  const lives: Life[] = [];
  const wrong: string[] = [];
  const open = new Set<Promise<void>>();
  const began = performance.now();
  let told = began;
  for (let index = 0; index < seconds * callsPerSecond; index += 1) {
    await pause(Math.max(0, began + (index * 1_000) / callsPerSecond - performance.now()));
    while (open.size >= MOST_AT_ONCE) await Promise.race(open);
    const agent = AGENTS[index % AGENTS.length]?.name ?? '';
    const life: Promise<void> = live(stack, of, { index, agent })
      .then((lived) => void lives.push(lived))
      .catch((error: unknown) => void wrong.push(`call ${index}: ${inspect(error)}`))
      .finally(() => open.delete(life));
    open.add(life);
    if (performance.now() - told < PROGRESS_MS) continue;
    told = performance.now();
    const minutes = Math.round((told - began) / 60_000);
    onProgress(`${minutes} min: ${lives.length} calls ended, ${open.size} on their way, ${faults()} faults`);
  }
  await Promise.all(open);
  return { lives, wrong };
}

/** Compared with the tool's notes, and read once more: an end never changes. */
async function wrongAmong(stack: Stack, lives: readonly Life[]): Promise<string[]> {
  const writes = new Map<unknown, number>();
  for (const { arguments: args } of stack.upstreamCalls()) {
    writes.set(args['path'], (writes.get(args['path']) ?? 0) + 1);
  }
  const wrong = lives.map((life) => wrongWith(life, writes.get(life.path) ?? 0)).filter((words) => words !== undefined);
  for (const [index, { taskId, end, path }] of lives.entries()) {
    const token = await stack.token(
      AGENTS[Number(/-(\d+)\.txt$/.exec(path)?.[1] ?? index) % AGENTS.length]?.name ?? '',
    );
    const { body } = await stack.rpc(token, 'tasks/get', { taskId });
    const again = body.result && endOf(body.result);
    if (again !== end) wrong.push(`${path}: ${end}, and later ${again}`);
  }
  return wrong;
}

async function violationsIn(
  stack: Stack,
  of: SealedDatabase,
  { lives, faults }: { lives: readonly Life[]; faults: readonly { from: string; to: string }[] },
): Promise<Violation[]> {
  await outboxesAreEmpty(of.database, { timeoutMs: 180_000 });
  return checkInvariants(of.database, {
    arrivals: arrivalsAt(stack),
    seenTaskIds: lives.map(({ taskId }) => taskId),
    faults,
    quietForMs: 1_000,
    keyed: sealsOf(of).digest,
  });
}

function counted(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of [...names].sort()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
