import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { isTerminal } from '../../workflows/domain/gated-call/gated-call.ts';
import type { Arrival, ServiceRequest } from '../invariants/invariant.ts';
import type { Opening } from '../../workflows/domain/ports.ts';
import { OTHER_DIGEST, TOOL_DIGEST } from '../support/grants.ts';
import { CALLER, anOpening } from '../support/gated-calls.ts';
import { createActors, type Actors } from './actors.ts';
import { type Authority, createForeignAuthority } from './authority.ts';
import { createChance, type Chance } from './chance.ts';
import { comeToRest } from './come-to-rest.ts';
import { createGrantingAuthority } from './granting-authority.ts';
import type { Mutation } from './instance.ts';
import { createOutside, type Temper } from './outside.ts';
import { INSTANTS, type Instant } from './passing-time.ts';
import { createScheduler, type Fate, type Scheduler } from './scheduler.ts';

/** The data that one history left for the invariants, and its contradictions. */
export interface HistoryResult {
  readonly seed: string;
  readonly arrivals: readonly Arrival[];
  readonly requests: readonly ServiceRequest[];
  readonly seenTaskIds: readonly string[];
  readonly findings: readonly string[];
  /** All events, in order. */
  readonly trace: readonly string[];
  /** How many of its requests a grant approved. */
  readonly byGrant: number;
  /** The states in which its calls ended. */
  readonly ends: readonly string[];
}

const FATES: readonly Fate[] = ['fails', 'done, told failed', 'crash before', 'crash after'];
const MOST_UNDER_WAY = 6;

/**
 * One tool call from its first request to its end, with every random event on the way: steps of the workflow any number
 * of times and in any order, clients that repeat and cancel, deadlines, crashes, lost answers. Then all faults end, and
 * every call has to come to rest. The same seed gives the same history.
 */
export async function runHistory(pool: Pool, seed: string, mutation: Mutation = {}): Promise<HistoryResult> {
  const chance = createChance(seed);
  const temper: Temper = {
    fault: chance.oneOf([0, 0, 0.03, 0.15]),
    otherDecision: chance.oneOf([0, 0.2, 0.6]),
    otherInvocation: chance.oneOf([0, 0, 0.5]),
  };
  const trace: string[] = [];
  const scheduler = createScheduler((line) => trace.push(line));
  // In a quarter of the histories, the authority is the product's own, and its approvers give grants.
  const isGranting = createChance(`${seed}, authority`).happens(0.25);
  const outside = createOutside(chance, temper, (findings) =>
    isGranting ? createGrantingAuthority(pool, chance, findings) : createForeignAuthority(chance, findings),
  );
  const { authority } = outside;
  const openings = isGranting ? similarCalls() : sameCalls();
  const actors = createActors({ pool, outside, scheduler, chance, mutation, openings, trace });
  const others = callsAfterFirst(openings.length, chance, actors);
  const events = () => [...authority.events(), others];
  const pace = { isDisturbed: chance.happens(0.5), goesOn: chance.oneOf([0.5, 0.75, 0.9]) };
  actors.toolCall();
  for (let left = (isGranting ? 40 : 15) + chance.below(60); left > 0; left -= 1) {
    await step({ actors, scheduler, chance, temper, ...pace, events, decide: authority.decide });
  }
  trace.push('all is well');
  outside.calmDown();
  await comeToRest({ actors, scheduler, chance, decide: authority.decide, isRepeated: chance.happens(0.5) });
  const rows = await endsOf(pool, actors.ids());
  const isSmooth =
    scheduler.faults.length === 0 && temper.otherInvocation === 0 && !trace.includes('the execution deadline passes');
  return {
    seed,
    arrivals: outside.arrivals,
    requests: authority.evidence(),
    seenTaskIds: actors.seenTaskIds(),
    findings: [
      ...outside.findings,
      ...actors.findings(),
      ...findingsOf(rows, { isSmooth, requests: authority.count().opened }),
    ],
    trace,
    byGrant: authority.count().byGrant,
    ends: rows.map(({ state }) => state),
  };
}

/** Two agents that make the same call. */
function sameCalls(): Opening[] {
  const args = { path: `/tmp/${randomUUID()}` };
  return [0, 1].map(() => anOpening({ args, caller: { ...CALLER, subject: randomUUID() } }));
}

/** Calls of one agent in two folders, one of them of a tool that changed, and the same call by others. */
function similarCalls(): Opening[] {
  const own = { ...CALLER, subject: randomUUID() };
  const other = { ...CALLER, subject: randomUUID() };
  const folder = `/tmp/${randomUUID()}`;
  const call = (path: string, caller = own, digest = TOOL_DIGEST) =>
    describedOpening(anOpening({ args: { path }, caller }), digest);
  return [
    ...['a', 'b', 'c', 'e', 'f'].map((name) => call(`${folder}/${name}`)),
    call(`${folder}-else/a`),
    call(`${folder}/d`, own, OTHER_DIGEST),
    call(`${folder}/a`, other),
    call(`${folder}/a`, { ...own, clientId: 'another-agent' }),
  ];
}

/** As the gateway makes it: with the digest of the tool's description in the question, and the question in the submission. */
function describedOpening(opening: Opening, digest: string): Opening {
  const { binding } = opening;
  const { evaluation } = binding;
  const call = { tool: binding.tool, tool_digest: digest, roles: [] };
  const question = { ...evaluation, context: { ...evaluation.context, call } };
  return {
    ...opening,
    binding: { ...binding, evaluation: question },
    get submission() {
      return { ...opening.submission, body: JSON.stringify(question) };
    },
  };
}

/** The other calls than the first, as rare together as one call of another agent. With more of them, each comes as often as the first. */
const callsAfterFirst = (count: number, chance: Chance, actors: Actors): ReturnType<Authority['events']>[number] => [
  count > 2 ? 5 : 0.3,
  () => actors.toolCall(1 + chance.below(count - 1)),
];

interface Stage {
  readonly actors: Actors;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly temper: Temper;
  readonly isDisturbed: boolean;
  /** The probability that a pending operation goes on, rather than another one beginning. */
  readonly goesOn: number;
  readonly decide: (verdict: 'granted' | 'denied') => unknown;
  readonly events: Authority['events'];
}

/** One more event: usually a pending operation goes on, sometimes another one begins. */
async function step({ actors, scheduler, chance, temper, isDisturbed, goesOn, decide, events }: Stage): Promise<void> {
  const waiting = await scheduler.settled();
  if (waiting > 0 && (waiting >= MOST_UNDER_WAY || chance.happens(goesOn))) {
    const fate = chance.happens(temper.fault) ? chance.oneOf(FATES) : 'done';
    return scheduler.release(chance.below(waiting), fate);
  }
  const disturbing = isDisturbed ? 1 : 0;
  const begin = chance.weighted<() => unknown>([
    [1.7, () => actors.toolCall(0)],
    ...events(),
    [6, actors.claim],
    [3, actors.invoke],
    [1, actors.settle],
    [3, actors.deliver],
    [1, actors.read],
    [3, () => decide(chance.happens(0.9) ? 'granted' : 'denied')],
    [disturbing, actors.cancel],
    [disturbing, actors.sweep],
    [2 * disturbing, () => actors.wait(chance.oneOf(Object.keys(INSTANTS) as Instant[]))],
  ]);
  await begin();
}

interface End {
  readonly state: Parameters<typeof isTerminal>[0];
  readonly submissions: number;
}

async function endsOf(pool: Pool, ids: readonly string[]): Promise<End[]> {
  const { rows } = await pool.query<End>(
    `SELECT state, (SELECT count(*)::int FROM gateway.submission s WHERE s.gated_call_id = g.id) AS submissions
     FROM gateway.gated_call g WHERE id = ANY ($1::uuid[])`,
    [ids],
  );
  return rows;
}

function findingsOf(rows: readonly End[], { isSmooth, requests }: { isSmooth: boolean; requests: number }): string[] {
  const submissions = rows.reduce((sum, row) => sum + row.submissions, 0);
  const found: readonly [boolean, string][] = [
    [rows.some(({ state }) => !isTerminal(state)), 'a call does not come to rest'],
    [
      isSmooth && rows.some(({ state }) => state === 'outcome_unknown'),
      'an outcome is unknown though nothing went wrong',
    ],
    [requests > submissions, 'a submission opened more than one access request'],
  ];
  return found.filter(([holds]) => holds).map(([, words]) => words);
}
