import { describe, expect, it } from '@jest/globals';
import {
  dispositionOf,
  GATED_CALL_STATES,
  type GatedCallState,
  isTerminal,
  TRANSITIONS,
} from '../../../workflows/domain/gated-call/gated-call.ts';

const ENDS: readonly GatedCallState[] = [
  'executed',
  'execution_error',
  'outcome_unknown',
  'denied',
  'cancelled',
  'failed',
];
const WITHOUT_EXECUTION: readonly GatedCallState[] = ['denied', 'cancelled', 'failed'];
const next = (state: GatedCallState): readonly GatedCallState[] => TRANSITIONS[state];

/** Every state that can follow, in one step or in many. */
function reachableFrom(start: GatedCallState): ReadonlySet<GatedCallState> {
  const seen = new Set<GatedCallState>();
  const open = [...next(start)];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    if (!seen.has(state)) open.push(...next(state));
    seen.add(state);
  }
  return seen;
}

describe('the states of a gated call', () => {
  it('have only each other as next ones', () => {
    expect(GATED_CALL_STATES).toEqual(expect.arrayContaining(Object.values(TRANSITIONS).flat()));
  });

  it('are all reached from `preparing`, which follows no state', () => {
    expect([...reachableFrom('preparing')].sort()).toEqual(
      GATED_CALL_STATES.filter((each) => each !== 'preparing').sort(),
    );
  });

  it.each(GATED_CALL_STATES)('end or can end: %s', (state) => {
    expect(isTerminal(state)).toBe(ENDS.includes(state));
    expect(isTerminal(state) || [...reachableFrom(state)].some((each) => isTerminal(each))).toBe(true);
  });

  it.each(GATED_CALL_STATES)('never lead to themselves in one step: %s', (state) => {
    expect(next(state)).not.toContain(state);
  });

  it('come to execution only through `granted` and `claimed`', () => {
    expect(GATED_CALL_STATES.filter((each) => next(each).includes('claimed'))).toEqual(['granted']);
    for (const end of ['executed', 'execution_error', 'outcome_unknown'] as const) {
      expect(GATED_CALL_STATES.filter((each) => next(each).includes(end))).toEqual(['claimed']);
    }
  });

  it('cannot be denied, cancelled or failed while claimed: the claim has to be given up first', () => {
    expect(next('claimed').filter((each) => WITHOUT_EXECUTION.includes(each))).toEqual([]);
    expect(next('claimed').filter((each) => !isTerminal(each))).toEqual(['granted']);
  });

  it('can be given up in every state before the claim', () => {
    for (const state of ['preparing', 'pending', 'input_required', 'granted'] as const) {
      expect(next(state)).toEqual(expect.arrayContaining([...WITHOUT_EXECUTION]));
    }
  });
});

describe('dispositionOf', () => {
  it.each([
    ['executed', 'approved-executed'],
    ['execution_error', 'execution-error'],
    ['outcome_unknown', 'outcome-unknown'],
    ['denied', 'denied-not-executed'],
  ] as const)('of %s is %s', (state, disposition) => {
    expect(dispositionOf(state)).toBe(disposition);
  });

  it.each(['cancelled', 'failed'] as const)('of %s is undefined, although it is an end', (state) => {
    expect(dispositionOf(state)).toBeUndefined();
  });

  it('is undefined for a call that is still open', () => {
    expect(GATED_CALL_STATES.filter((each) => !isTerminal(each) && dispositionOf(each) !== undefined)).toEqual([]);
  });

  it('says that a tool may have run only when it was claimed', () => {
    const mayHaveRun = GATED_CALL_STATES.filter((each) => {
      const disposition = dispositionOf(each);
      return disposition !== undefined && disposition !== 'denied-not-executed';
    });
    expect(mayHaveRun).toEqual(next('claimed').filter((each) => isTerminal(each)));
  });
});
