import { parseArgs } from 'node:util';
import { runSoak, type SoakFigures } from './run-soak.ts';
import { hasGrown, type Drift } from './resources.ts';

const HELP = `Makes five calls a second that are approved, denied, cancelled, or both at once. Every thirty seconds it kills, holds up or
cuts off a part. Afterwards each call has a permitted end, its tool was called as often as the end says, and gateway and
worker, which lived through everything, hold about as much as at the beginning. Exit code 1 otherwise.

  npm run test:soak                              ten minutes
  npm run test:soak -- --minutes 1440            a day
  npm run test:soak -- --rate 2 --faults 10      two calls a second, a fault every ten seconds
  npm run test:soak -- --json                    figures as JSON on stdout

Limits on memory, files and connections apply from ten minutes on: a process that is warming up grows without a leak.
`;

const {
  values: { minutes, rate, faults, json, help },
} = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '5' },
    faults: { type: 'string', default: '30' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

const DRIFT_COUNTS_FROM_MINUTES = 10;
const MEBIBYTE = 1_024 * 1_024;

const isLeak = (drift: Drift) => Number(minutes) >= DRIFT_COUNTS_FROM_MINUTES && hasGrown(drift);

function words(figures: SoakFigures): string {
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const held = (drift: Drift) => {
    const { part, what, before, after } = drift;
    const [from, to] = what === 'memory' ? [before / MEBIBYTE, after / MEBIBYTE] : [before, after];
    const unit = what === 'memory' ? 'MiB of memory' : what;
    return `${part}: ${from.toFixed(0)} → ${to.toFixed(0)} ${unit}${isLeak(drift) ? ', GROWN' : ''}`;
  };
  return `${[
    `${figures.calls} calls: ${list(figures.ends)}`,
    `faults: ${list(figures.faults)}`,
    ...figures.drifts.map(held),
    `calls with a forbidden outcome: ${figures.wrong.length}`,
    ...figures.wrong.slice(0, 10),
    `invariants that do not hold: ${figures.violations.length}`,
    ...figures.violations.map(({ invariant, cases }) => `${invariant}: ${JSON.stringify(cases)}`),
  ].join('\n')}\n`;
}

if (help === true) process.stdout.write(HELP);
else {
  const figures = await runSoak({
    seconds: Number(minutes) * 60,
    callsPerSecond: Number(rate),
    faultEverySeconds: Number(faults),
    onProgress: (what) => process.stderr.write(`${what} …\n`),
  });
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  const isFaulty = figures.wrong.length + figures.violations.length > 0 || figures.drifts.some(isLeak);
  if (isFaulty) process.exitCode = 1;
}
