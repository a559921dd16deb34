import type { TerminalState } from '../../../workflows/domain/gated-call/outcome-record.ts';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** An instant to the second or, where the order matters, to the millisecond; always in UTC, so that records can be compared. */
export function Moment({ at, precise }: { at: string; precise?: boolean }) {
  const day = `${Number(at.slice(8, 10))} ${MONTHS[Number(at.slice(5, 7)) - 1]} ${at.slice(0, 4)}`;
  return (
    <time dateTime={at} title={at}>
      {day}, {at.slice(11, precise ? 23 : 19)} UTC
    </time>
  );
}

const STATE_WORDS = {
  executed: ['executed', 'good'],
  execution_error: ['execution error', 'bad'],
  outcome_unknown: ['outcome unknown', 'warn'],
  denied: ['denied', ''],
  cancelled: ['cancelled', ''],
  failed: ['failed', 'bad'],
} as const satisfies Record<TerminalState, readonly [string, string]>;

export const stateInWords = (state: TerminalState) => STATE_WORDS[state][0];

/** The end of a call in words; the colour adds nothing to them. */
export function State({ state }: { state: TerminalState }) {
  const [words, tone] = STATE_WORDS[state] ?? [state, 'bad'];
  return <span class={`badge ${tone}`}>{words}</span>;
}

export function ToTheList() {
  return (
    <a class="crumb" href="/outcome-records">
      ← All outcome records
    </a>
  );
}
