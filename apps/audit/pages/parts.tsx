import type { ComponentChildren } from 'preact';
import type { TerminalState } from '../../../workflows/domain/gated-call/outcome-record.ts';

/** A digest or an id: monospaced, and it wraps anywhere instead of pushing the page wide. */
export function Reference({ children }: { children: ComponentChildren }) {
  return <code class="reference">{children}</code>;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** An instant for people, in UTC. Milliseconds are shown where order matters. */
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
  denied: ['denied', 'neutral'],
  cancelled: ['cancelled', 'neutral'],
  failed: ['failed', 'bad'],
} as const satisfies Record<TerminalState, readonly [string, string]>;

/** A state in words for people. */
export const stateInWords = (state: TerminalState) => STATE_WORDS[state][0];

/** How a call ended, in words and in colour; the words alone are enough. */
export function State({ state }: { state: TerminalState }) {
  const [words, tone] = STATE_WORDS[state];
  return <span class={`audit-state audit-${tone}`}>{words}</span>;
}
