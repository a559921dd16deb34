import { type GatedCallState, isTerminal } from '../../workflows/domain/gated-call/gated-call.ts';

export type Generation = 1 | 2;
export type Attempt = 1 | 2;
/** A claim of a call by its number. The model has no third one. */
export type Claim = 1 | 2;
/** The state of each of the two generations that the model has. */
export type PerGeneration<T> = readonly [T, T];

/** All of a gated call's rows that a fence looks at, with instants reduced to whether they have passed. */
export interface Row {
  readonly state: GatedCallState | 'none';
  readonly generation: Generation;
  /** Whether a process holds the right to submit the current generation. */
  readonly leased: boolean;
  readonly handles: PerGeneration<boolean>;
  /** The approval of the current generation. */
  readonly approval: 'none' | 'valid' | 'over';
  /** The newest allow decision. */
  readonly decisions: PerGeneration<'none' | 'fresh' | 'old'>;
  readonly requestOver: boolean;
  readonly executionOver: boolean;
  /** Generation of the claim that the call has. */
  readonly claim: 0 | Generation;
  /** How many claims were made. All but the present one were given up. */
  readonly claims: 0 | Claim;
  /** The attempt that holds the permit to send. */
  readonly permit: 0 | Attempt;
  readonly result: 'none' | 'ok' | 'error' | 'not_sent';
}

export const NO_ROW: Row = {
  state: 'none',
  generation: 1,
  leased: false,
  handles: [false, false],
  approval: 'none',
  decisions: ['none', 'none'],
  requestOver: false,
  executionOver: false,
  claim: 0,
  claims: 0,
  permit: 0,
  result: 'none',
};

/** One call of a database function, or the passing of an instant. */
export type Operation =
  | { readonly kind: 'open' | 'takeSubmission' | 'releaseSubmission' }
  | { readonly kind: 'attach' | 'grant' | 'grantOver' | 'allow'; readonly generation: Generation }
  | { readonly kind: 'claim'; readonly generation: Generation; readonly decidedIn: Generation }
  | { readonly kind: 'requestAgain'; readonly generation: Generation }
  | { readonly kind: 'permit'; readonly attempt: Attempt; readonly claim: Claim }
  | { readonly kind: 'release'; readonly claim: Claim }
  | { readonly kind: 'notSent'; readonly attempt: Attempt }
  | { readonly kind: 'settle'; readonly attempt: Attempt; readonly isError: boolean }
  | { readonly kind: 'cancel' | 'deny' | 'fail' | 'expire' }
  | { readonly kind: 'requestDeadlinePasses' | 'approvalRunsOut' | 'executionDeadlinePasses' | 'decisionsGetOld' };

/** The database's answer, and the state afterwards. */
export interface Step {
  readonly row: Row;
  readonly answer: string;
}

export const hasEnded = ({ state }: Row) => state !== 'none' && isTerminal(state);
const isUnclaimed = ({ state }: Row) => ['preparing', 'pending', 'input_required', 'granted'].includes(state);
const at = (generation: Generation) => (generation - 1) as 0 | 1;
const put = <T>(all: PerGeneration<T>, generation: Generation, value: T): PerGeneration<T> =>
  generation === 1 ? [value, all[1]] : [all[0], value];

/** The points where a mutant deviates from the protocol. */
export interface RowRules {
  readonly claimIgnoresState: boolean;
  readonly claimIgnoresDecision: boolean;
  readonly claimTakesAnyGeneration: boolean;
  readonly claimIgnoresClock: boolean;
  readonly permitIsNotSingle: boolean;
  readonly permitIgnoresDeadline: boolean;
  readonly releaseIgnoresPermit: boolean;
  readonly settleIgnoresState: boolean;
  readonly cancelIgnoresClaim: boolean;
  readonly deadlineDenies: boolean;
  readonly deadlineNeverFalls: boolean;
  readonly grantIgnoresGeneration: boolean;
}

const kept = (row: Row, answer: string = row.state): Step => ({ row, answer });
const moved = (row: Row, change: Partial<Row>): Step => {
  const next = { ...row, ...change };
  return { row: next, answer: next.state };
};

/** The database: each operation may be tried at any time, and the answer reports its result. */
export function apply(row: Row, operation: Operation, rules: Partial<RowRules> = {}): Step {
  switch (operation.kind) {
    case 'open':
      return row.state === 'none'
        ? { row: { ...row, state: 'preparing', leased: true }, answer: 'opened' }
        : kept(row, 'joined');
    case 'takeSubmission':
      return hasEnded(row) || row.leased || row.handles[at(row.generation)]
        ? kept(row, 'refused')
        : { row: { ...row, leased: true }, answer: 'taken' };
    case 'releaseSubmission':
      return { row: { ...row, leased: false }, answer: 'done' };
    case 'attach':
      return attach(row, operation.generation);
    case 'grant':
    case 'grantOver':
      return grant(row, operation, rules);
    case 'allow':
      return { row: { ...row, decisions: put(row.decisions, operation.generation, 'fresh') }, answer: 'done' };
    case 'claim':
      return claim(row, operation, rules);
    case 'requestAgain':
      return requestAgain(row, operation.generation, rules);
    case 'permit':
      return permit(row, operation, rules);
    case 'release':
      return release(row, operation.claim, rules);
    case 'settle':
      return settle(row, operation.attempt, { result: operation.isError ? 'error' : 'ok' }, rules);
    case 'notSent':
      return settle(row, operation.attempt, { result: 'not_sent' }, rules);
    case 'cancel':
      return isUnclaimed(row) || (rules.cancelIgnoresClaim === true && row.state === 'claimed')
        ? moved(row, { state: 'cancelled' })
        : kept(row);
    case 'deny':
      return isUnclaimed(row) ? moved(row, { state: 'denied' }) : kept(row);
    case 'fail':
      return isUnclaimed(row) ? moved(row, { state: 'failed' }) : kept(row);
    case 'expire':
      return expire(row, rules);
    case 'requestDeadlinePasses':
    case 'approvalRunsOut':
    case 'executionDeadlinePasses':
    case 'decisionsGetOld':
      return { row: passTime(row, operation.kind), answer: 'done' };
  }
}

type Instant = 'requestDeadlinePasses' | 'approvalRunsOut' | 'executionDeadlinePasses' | 'decisionsGetOld';

function passTime(row: Row, instant: Instant): Row {
  switch (instant) {
    case 'requestDeadlinePasses':
      return { ...row, requestOver: true };
    case 'approvalRunsOut':
      return { ...row, approval: row.approval === 'valid' ? 'over' : row.approval };
    case 'executionDeadlinePasses':
      return { ...row, executionOver: row.claim !== 0 };
    case 'decisionsGetOld': {
      const older = (age: Row['decisions'][0]) => (age === 'fresh' ? 'old' : age);
      return { ...row, decisions: [older(row.decisions[0]), older(row.decisions[1])] };
    }
  }
}

function attach(row: Row, generation: Generation): Step {
  const next = { ...row, handles: put(row.handles, generation, true) };
  if (hasEnded(row)) return { row: next, answer: 'ended' };
  return { row: row.state === 'preparing' ? { ...next, state: 'pending' } : next, answer: 'attached' };
}

function grant(
  row: Row,
  { kind, generation }: { kind: string; generation: Generation },
  rules: Partial<RowRules>,
): Step {
  const isCurrent = generation === row.generation || rules.grantIgnoresGeneration === true;
  if (row.state !== 'pending' || !isCurrent) return kept(row);
  if (row.requestOver) return expire(row, rules);
  if (kind === 'grantOver') return moved(row, { state: 'denied' });
  return moved(row, { state: 'granted', approval: 'valid' });
}

function claim(
  row: Row,
  { generation, decidedIn }: { generation: Generation; decidedIn: Generation },
  rules: Partial<RowRules>,
): Step {
  // The claim's id follows from call and generation, so a worker that repeats the claim finds its own.
  if (row.claim === generation) return kept(row, row.state === 'claimed' ? 'mine' : 'lost');
  const state =
    rules.claimIgnoresState === true ? row.state !== 'none' && row.approval !== 'none' : row.state === 'granted';
  if (!state || row.claim !== 0 || (generation !== row.generation && rules.claimTakesAnyGeneration !== true))
    return kept(row, 'lost');
  if (row.approval === 'over' && rules.claimIgnoresClock !== true) return kept(row, 'lost');
  const isDecided =
    row.decisions[at(decidedIn)] === 'fresh' && (decidedIn === generation || rules.claimTakesAnyGeneration === true);
  if (!isDecided && rules.claimIgnoresDecision !== true) return kept(row, 'stale');
  return { row: { ...row, state: 'claimed', claim: generation, claims: row.claims === 0 ? 1 : 2 }, answer: 'won' };
}

function requestAgain(row: Row, generation: Generation, rules: Partial<RowRules>): Step {
  if (row.state !== 'granted' || row.generation !== generation) return kept(row);
  if (row.approval === 'over') return expire(row, rules);
  if (generation === 2) return moved(row, { state: 'denied' });
  return moved(row, { state: 'pending', generation: 2, leased: false, approval: 'none', requestOver: false });
}

function permit(row: Row, { attempt, claim: of }: { attempt: Attempt; claim: Claim }, rules: Partial<RowRules>): Step {
  const isOpen =
    row.state === 'claimed' && row.claims === of && (!row.executionOver || rules.permitIgnoresDeadline === true);
  if (!isOpen || (row.permit !== 0 && rules.permitIsNotSingle !== true)) return kept(row, 'false');
  return { row: { ...row, permit: attempt }, answer: 'true' };
}

/** Answers how many claims of the call were given up. */
function release(row: Row, of: Claim, rules: Partial<RowRules>): Step {
  const isUnsent = row.permit === 0 || rules.releaseIgnoresPermit === true;
  if (row.state !== 'claimed' || row.claims !== of || !isUnsent) return kept(row, '0');
  // It used its decision.
  const decisions = passTime(row, 'decisionsGetOld').decisions;
  return { row: { ...row, state: 'granted', claim: 0, executionOver: false, decisions }, answer: String(of) };
}

function settle(row: Row, attempt: Attempt, { result }: Pick<Row, 'result'>, rules: Partial<RowRules>): Step {
  if (row.state !== 'claimed' && rules.settleIgnoresState !== true) return kept(row);
  if (row.permit !== attempt) return kept(row);
  return moved(row, { state: result === 'ok' ? 'executed' : 'execution_error', result });
}

function expire(row: Row, rules: Partial<RowRules>): Step {
  // The grant ends the clock of the request.
  const isOver = row.state === 'granted' ? row.approval === 'over' : row.requestOver;
  if (isUnclaimed(row)) return isOver ? moved(row, { state: 'denied' }) : kept(row);
  if (row.state !== 'claimed' || !row.executionOver || rules.deadlineNeverFalls === true) return kept(row);
  if (rules.deadlineDenies === true) return moved(row, { state: 'denied' });
  if (row.permit !== 0) return moved(row, { state: 'outcome_unknown' });
  const { row: released } = release(row, row.claims === 2 ? 2 : 1, rules);
  return moved(released, released.approval === 'over' ? { state: 'denied' } : {});
}
