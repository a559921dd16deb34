import { hasEnded } from './row.ts';
import { movesOf, type Rules } from './protocol.ts';
import { BEGINNING, requestOf, type World } from './world.ts';

export interface Exploration {
  readonly states: number;
  readonly violation?: { readonly what: string; readonly path: readonly string[] };
}

interface Known {
  readonly world: World;
  readonly label: string;
  readonly from: number;
  /** Worlds from which this one is reached without a person's action. */
  readonly before: number[];
}

/** Far more than the protocol has: a mutant that makes the world boundless is stopped. */
const MOST_STATES = 2_000_000;

/** Visits every reachable world, breadth first, so that the path to a violation is one of the shortest. */
export function explore(rules: Partial<Rules> = {}, { isAlone = false } = {}): Exploration {
  const known: Known[] = [{ world: BEGINNING, label: '', from: -1, before: [] }];
  const numbers = new Map([[keyOf(BEGINNING), 0]]);
  for (let number = 0; number < known.length; number += 1) {
    const { world } = known[number] ?? { world: BEGINNING };
    for (const move of movesOf(world, rules, isAlone)) {
      const what = violationOf(world, move.world);
      if (what !== undefined)
        return { states: known.length, violation: { what, path: [...pathTo(known, number), move.label] } };
      const key = keyOf(move.world);
      let to = numbers.get(key);
      if (to === undefined) {
        to = known.length;
        numbers.set(key, to);
        known.push({ world: move.world, label: move.label, from: number, before: [] });
        if (to > MOST_STATES) throw new Error('the model has no bounds');
      }
      if (move.isVoluntary !== true) known[to]?.before.push(number);
    }
  }
  const stuck = firstStuck(known);
  if (stuck === undefined) return { states: known.length };
  return { states: known.length, violation: { what: 'a call can never come to rest', path: pathTo(known, stuck) } };
}

/** Violations that one step shows. */
function violationOf(before: World, { row, ...after }: World): string | undefined {
  const { state, result } = row;
  const isClaimedNow = before.row.claim === 0 && row.claim !== 0;
  const decision = before.row.decisions[row.claim === 2 ? 1 : 0];
  const found: readonly [boolean, string][] = [
    [after.effects > 1, 'a call arrives twice'],
    [
      after.effects > 0 && ['cancelled', 'denied', 'failed'].includes(state),
      'a call arrives and is said not to have run',
    ],
    [after.effects > 0 && row.permit === 0, 'a call arrives without a permit'],
    [after.effects > 0 && result === 'not_sent', 'a call arrives and is reported as not sent'],
    [after.effects === 0 && (result === 'ok' || result === 'error'), 'a call that never arrived has a result'],
    [row.permit !== 0 && row.claim === 0, 'a permit is given without a claim'],
    [row.claim !== 0 && row.claim !== row.generation, 'a claim is of another generation'],
    [row.claim !== 0 && ['cancelled', 'denied', 'failed'].includes(state), 'a claimed call ends as if it had not been'],
    [isClaimedNow && decision !== 'fresh', 'a call is claimed without a fresh decision'],
    [isClaimedNow && row.approval !== 'valid', 'a call is claimed after the end of its approval'],
    [
      hasEnded(before.row) &&
        (state !== before.row.state || result !== before.row.result || row.permit !== before.row.permit),
      'an end changes',
    ],
    [row.permit !== before.row.permit && row.executionOver, 'a permit is given after the execution deadline'],
    [isForgotten({ row, ...after }), 'an access request is left open and is never taken back'],
    [state === 'outcome_unknown' && row.permit === 0, 'an outcome is unknown although the call cannot have been sent'],
    [after.isAskedTwice, 'one submission opens two access requests'],
    [
      state === 'granted' && requestOf({ row, ...after }, row.generation) !== 'granted',
      'a call is granted without a grant of its request',
    ],
  ];
  return found.find(([holds]) => holds)?.[1];
}

/** The call is over, and no gateway, worker or outbox row will take its access request back. */
function isForgotten({ row, requests, gateways, workers, isCancelQueued }: World): boolean {
  const isUnderWay = [...gateways, ...workers].some(({ at }) => at === 'submitting' || at === 'submitted');
  return hasEnded(row) && requests.includes('open') && !isUnderWay && !isCancelQueued;
}

/** At rest: the call has ended, and no approver is asked to decide on it any more. */
const isAtRest = ({ row, requests }: World) => hasEnded(row) && !requests.includes('open');

/** A world from which no path of clocks, workers and the sweeper leads to rest. */
function firstStuck(known: readonly Known[]): number | undefined {
  const reaches = new Uint8Array(known.length);
  const queue: number[] = [];
  known.forEach(({ world }, number) => {
    if (!isAtRest(world)) return;
    reaches[number] = 1;
    queue.push(number);
  });
  for (let number = queue.pop(); number !== undefined; number = queue.pop()) {
    for (const earlier of known[number]?.before ?? []) {
      if (reaches[earlier] === 1) continue;
      reaches[earlier] = 1;
      queue.push(earlier);
    }
  }
  const stuck = reaches.indexOf(0);
  return stuck === -1 ? undefined : stuck;
}

function pathTo(known: readonly Known[], number: number): string[] {
  const path: string[] = [];
  for (let at = known[number]; at !== undefined && at.from >= 0; at = known[at.from]) path.unshift(at.label);
  return path;
}

/**
 * The world in a few characters, because there are very many to compare. Worlds are equal when they differ only in
 * which gateway or worker is which, or in values that no step reads any more: deadlines after the claim, decisions that
 * no worker holds, a lease of a submission with its handle, a caller who comes too late to open a call.
 */
function keyOf({ row, gateways, workers, requests, ...rest }: World): string {
  const isOpening = row.state === 'none' || row.state === 'preparing';
  const callers = gateways.map(({ at, generation }) =>
    at === 'idle' && !isOpening ? 'gone1' : at + String(generation),
  );
  const [first, second] = workers.map(({ at, generation, claim }) => at + String(generation) + String(claim));
  const swaps = String(first) > String(second) || (first === second && row.permit === 2);
  const permit = swaps && row.permit !== 0 ? 3 - row.permit : row.permit;
  const isOver = hasEnded(row);
  const decisions = row.decisions.map((age, index) =>
    workers.some(({ at, generation }) => at === 'decided' && generation === index + 1) ? age : '',
  );
  const isSent = isOver || row.permit !== 0;
  const clocks = isSent ? [isOver || row.executionOver] : [row.requestOver, row.approval, row.executionOver];
  const isSubmitted = row.handles[row.generation - 1] === true;
  const rows = [
    row.state,
    row.generation,
    isSubmitted || isOver || row.leased,
    row.handles,
    decisions,
    row.claim,
    isOver ? 0 : row.claims,
    permit,
  ];
  const people = [...callers.sort(), ...(swaps ? [second, first] : [first, second])];
  return [...rows, row.result, ...clocks, ...people, ...requests, ...Object.values(rest)].join();
}
