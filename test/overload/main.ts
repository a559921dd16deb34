import { parseArgs } from 'node:util';
import { runOverload, type Level, type OverloadFigures } from './run-overload.ts';

const HELP = `Measures how many approved calls the worker can end per second, then opens and approves a half of that, as many, twice and
four times as many. Prints what became of them. Everything runs on this machine. Exit code 1 unless:

- the executed calls per second are, under each load of at least the measured one, 80 % of the best under a smaller load;
- no approved call ends as not sent while its approval is valid;
- 99 of 100 refused calls have their answer within a second, and no call is left without one;
- every accepted call ends after the load has stopped.

  npm run test:overload                        20 seconds of each load; about five minutes
  npm run test:overload -- --seconds 60        a minute of each
  npm run test:overload -- --most 500          at most so many calls in each load (default 1500)
  npm run test:overload -- --json              figures as JSON on stdout
`;

const FACTORS = [0.5, 1, 2, 4];
const KEEPS = 0.8;
const REFUSED_WITHIN_MS = 1_000;

const {
  values: { seconds, most, json, help },
} = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    most: { type: 'string', default: '1500' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

const COLUMNS: readonly (readonly [string, (level: Level) => string])[] = [
  ['load', ({ factor }) => `×${factor}`],
  ['offered', ({ offered }) => `${offered}`],
  ['accepted', ({ accepted }) => `${accepted}`],
  ['refused', ({ refused }) => `${refused}`],
  ['lost', ({ lost }) => `${lost.length}`],
  ['executed', ({ executed }) => `${executed}`],
  ['per second', ({ executedPerSecond }) => executedPerSecond.toFixed(1)],
  ['not sent', ({ notSent }) => `${notSent}`],
  ['claim to permit, ms', ({ claimToPermitMs }) => claimToPermitMs.toFixed(0)],
  ['refused p99, ms', ({ refusedP99Ms }) => refusedP99Ms.toFixed(0)],
  ['accepted p99, ms', ({ acceptedP99Ms }) => acceptedP99Ms.toFixed(0)],
  ['open', ({ open }) => `${open}`],
];

function problemsOf({ levels }: OverloadFigures): string[] {
  return levels.flatMap((level, index) => {
    const best = Math.max(0, ...levels.slice(0, index).map(({ executedPerSecond }) => executedPerSecond));
    const found: readonly [boolean, string][] = [
      [level.executedPerSecond < KEEPS * best, 'fewer calls are executed per second than under a smaller load'],
      [level.notSent > 0, 'approved calls end as not sent'],
      [level.refusedP99Ms > REFUSED_WITHIN_MS, 'refused calls wait for their answer'],
      [level.lost.length > 0, `calls are lost: ${level.lost[0]}`],
      [level.open > 0, 'accepted calls do not end'],
    ];
    return found.filter(([holds]) => holds).map(([, words]) => `×${level.factor}: ${words}`);
  });
}

function words(figures: OverloadFigures): string {
  const line = (cells: readonly string[]) =>
    cells.map((cell, n) => cell.padStart(COLUMNS[n]?.[0].length ?? 0)).join('  ');
  return `${[
    `the worker can end ${figures.capacityPerSecond.toFixed(1)} calls per second`,
    line(COLUMNS.map(([name]) => name)),
    ...figures.levels.map((level) => line(COLUMNS.map(([, of]) => of(level)))),
    ...figures.levels.map(({ factor, ends }) => `×${factor}: ${JSON.stringify(ends)}`),
    ...problemsOf(figures),
    `problems: ${problemsOf(figures).length}`,
  ].join('\n')}\n`;
}

if (help === true) process.stdout.write(HELP);
else {
  const onProgress = (what: string) => process.stderr.write(`${what} …\n`);
  const figures = await runOverload({ seconds: Number(seconds), most: Number(most), factors: FACTORS, onProgress });
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (problemsOf(figures).length > 0) process.exitCode = 1;
}
