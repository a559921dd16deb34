import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import type { Progress } from '../../../workflows/domain/upstream-ports.ts';

/** What a person who watches the client reads while a call waits. A call that has ended has its answer instead. */
const MESSAGES: Partial<Record<GatedCallState, string>> = {
  preparing: 'The call waits for an approval.',
  pending: 'The call waits for an approval.',
  granted: 'An approval has arrived and is being checked.',
  claimed: 'The tool is being called.',
};

/**
 * Reports a waiting call as progress. The number says how often it was reported. There is no total, because people decide when they can.
 * @see MCP progress: the number increases with each notification
 */
export function waitingProgress(
  onProgress: ((progress: Progress) => void) | undefined,
  now: () => number,
): ((view: GatedCallView) => void) | undefined {
  if (onProgress === undefined) return undefined;
  let progress = 0;
  return (view) => {
    const words = [MESSAGES[view.state], endOf(view, now())].filter((text) => text !== undefined);
    onProgress({ progress: (progress += 1), message: words.join(' ') });
  };
}

function endOf({ state, decideBy }: GatedCallView, now: number): string | undefined {
  if (decideBy === undefined || (state !== 'pending' && state !== 'preparing')) return undefined;
  return `The request ends in ${inWords(Date.parse(decideBy) - now)}.`;
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** Half a minute: seven days are still seven days when the first report leaves. */
const ROUNDING_MS = 30_000;

/** The largest unit that fits: `7 days`, `1 hour`. */
function inWords(ms: number): string {
  for (const [unit, length] of UNITS) {
    const count = Math.floor((ms + ROUNDING_MS) / length);
    if (count > 0) return `${count} ${unit}${count === 1 ? '' : 's'}`;
  }
  return 'less than a minute';
}
