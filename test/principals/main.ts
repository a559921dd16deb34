import { parseArgs } from 'node:util';
import { startGround } from './gateway-process.ts';
import { LIMIT, runPrincipals, type Difference, type PrincipalFigures } from './run-principals.ts';

const HELP = `Asks about tasks of other callers, one request after the other and in random order. The tasks are open, ended, no longer kept, or do not exist. The
requests come from another person, from the same person through another client, and from the owner of tasks that are gone. They use tasks/get,
tasks/update, tasks/cancel and subscriptions/listen. All answers of a method have to be the same, byte for byte, no stored data may change, and
latency may not distinguish tasks that exist from those that do not. Exit code 1 when one of these does not hold.

The command compares latencies by rank (Mann-Whitney) with those of requests about tasks that do not exist, from the same run. It prints how often an
observer of one latency of each would guess right (0.5: by chance), and the distance from chance in standard deviations: more than ${LIMIT} means that
the two can be distinguished, which chance alone does once in 2,000 runs.

  npm run test:principals                            10,000 attempts, about a minute
  npm run test:principals -- --attempts 2000         this many
  npm run test:principals -- --seed 7                in the order of this seed
  npm run test:principals -- --json                  figures as JSON on stdout
`;
const PROGRESS_EVERY = 1_000;

const {
  values: { attempts, seed, json, help },
} = parseArgs({
  options: {
    attempts: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

const say = (line: string) => process.stderr.write(`${line}\n`);
const isTold = ({ deviation }: Difference) => Math.abs(deviation) > LIMIT;

async function run(): Promise<PrincipalFigures> {
  say('starting the product …');
  const ground = await startGround();
  try {
    return await runPrincipals(ground, {
      attempts: Number(attempts),
      seed: seed === undefined ? Date.now() % 2 ** 31 : Number(seed),
      onProgress: (made) => {
        if (made % PROGRESS_EVERY === 0) say(`${made} attempts`);
      },
    });
  } finally {
    await ground.stop();
  }
}

function words({ answers, unequal, differences, ...figures }: PrincipalFigures): string {
  const several = Object.entries(answers).filter(([, count]) => count > 1);
  return [
    `${figures.attempts} attempts, seed ${figures.seed}`,
    several.length === 0
      ? 'the same bytes for every task that is not the caller’s, whether it exists or not'
      : `different answers: ${several.map(([method, count]) => `${method} ${count}`).join(', ')}\n${unequal?.join('\n')}`,
    figures.hasChanged ? 'STORED DATA HAS CHANGED' : 'no stored data has changed',
    `latency, against that of tasks that do not exist (median ${figures.medianMs.toFixed(2)} ms; ${figures.unseenMs.toFixed(3)} ms more would have been noticed):`,
    ...differences.map((one) => {
      const { what, requests, share, deviation } = one;
      const figure = `${share.toFixed(3)} guessed right, ${deviation.toFixed(1)} standard deviations off`;
      return `  ${what.padEnd(22)}${String(requests).padStart(6)} requests  ${figure}${isTold(one) ? '  DISTINGUISHABLE' : ''}`;
    }),
    '',
  ].join('\n');
}

if (help === true) process.stdout.write(HELP);
else {
  const figures = await run();
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (figures.unequal !== undefined || figures.hasChanged || figures.differences.some(isTold)) process.exitCode = 1;
}
