import { parseArgs } from 'node:util';
import type { Load } from './herd.ts';
import { runScale, type ScaleFigures } from './run-scale.ts';

const HELP = `Opens many calls that wait for an approval, kills everything at once (the product, Postgres, Temporal), starts it again
and measures how soon each part works. Prints the memory and disk space of a waiting call, and the number of requests to policy and the
access request service in one second. Exit code 1 when a check fails, or recovery takes more than a minute.

  npm run test:scale                        10,000 calls, of which 100 are approved after the restart; about ten minutes
  npm run test:scale -- --calls 1000        this many
  npm run test:scale -- --json              figures as JSON on stdout
`;

const {
  values: { calls, json, help },
} = parseArgs({
  options: { calls: { type: 'string', default: '10000' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});

const RECOVERED_WITHIN_SECONDS = 60;
const MEBIBYTE = 1_024 * 1_024;

const isRecovered = ({ approvedExecuted, newCallOpened }: ScaleFigures) =>
  Math.max(approvedExecuted, newCallOpened) <= RECOVERED_WITHIN_SECONDS;

function words(figures: ScaleFigures): string {
  const { empty, waiting } = figures;
  const footprint = (what: string, key: keyof typeof empty) => {
    const perCall = (waiting[key] - empty[key]) / figures.calls / 1_024;
    const [before, after] = [empty[key], waiting[key]].map((bytes) => (bytes / MEBIBYTE).toFixed(0));
    return `${what.padEnd(34)}${perCall.toFixed(1).padStart(8)} KiB per waiting call (${before} → ${after} MiB)`;
  };
  const time = (what: string, seconds: number) =>
    `${what.padEnd(34)}${seconds.toFixed(1).padStart(8)} s after the restart`;
  const load = (what: string, { mostInASecond, altogether }: Load) =>
    `${what.padEnd(34)}${String(mostInASecond).padStart(8)} in one second at most, ${altogether} altogether`;
  return `${[
    `${figures.calls} calls were opened, ${figures.openedPerSecond.toFixed(0)} per second`,
    footprint('Postgres, on disk', 'postgresDisk'),
    footprint('Temporal, on disk', 'temporalDisk'),
    footprint('the product, resident', 'productMemory'),
    footprint('Temporal, resident', 'temporalMemory'),
    time('everything is ready', figures.ready),
    time('a task is read', figures.firstRead),
    time('all approved calls were executed', figures.approvedExecuted),
    time('another call was opened', figures.newCallOpened),
    load('evaluations by policy', figures.herd.evaluations),
    load('access request service, requests', figures.herd.accessRequests),
    load('of those, for calls that wait', figures.herd.looks),
    `recovered within ${RECOVERED_WITHIN_SECONDS} s: ${isRecovered(figures) ? 'yes' : 'NO'}`,
    `problems: ${figures.problems.length}`,
    ...figures.problems.slice(0, 20),
  ].join('\n')}\n`;
}

if (help === true) process.stdout.write(HELP);
else {
  const onProgress = (what: string) => process.stderr.write(`${what} …\n`);
  const figures = await runScale({ calls: Number(calls), approved: Math.min(100, Number(calls)), onProgress });
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (figures.problems.length > 0 || !isRecovered(figures)) process.exitCode = 1;
}
