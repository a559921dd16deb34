import { parseArgs } from 'node:util';
import { withOwnServers } from '../support/own-servers.ts';
import { startGround } from './ground.ts';
import { ATTACK_NAMES, runForgeries, type ForgeryFigures } from './run-forgeries.ts';

const HELP = `Sends forged and mutated binding tokens to the approval service, proofs of approvals to the decision point, callbacks to the gateway and
signed decisions to the approval service: ${ATTACK_NAMES.length} attacks in turn, against the real parts over a real database. The parts may not take one for
genuine, may not act on one, and may not answer with a fault of the service. After each 250 forgeries, the genuine originals are used and have
to be accepted: they were valid all the time. Exit code 1 when one of these does not hold.

  npm run test:forgeries                             100,000 forgeries
  npm run test:forgeries -- --count 5000             this many
  npm run test:forgeries -- --seed monday            with the choices of this seed; without it the seed is chosen, and printed
  npm run test:forgeries -- --json                   figures as JSON on stdout
`;
const PROGRESS_EVERY = 2_000;

const {
  values: { count, seed, json, help },
} = parseArgs({
  options: {
    count: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
const say = (line: string) => process.stderr.write(`${line}\n`);

async function run(wanted: number): Promise<ForgeryFigures> {
  say(`seed ${seed}; starting the decision point, the approval service and the gateway …`);
  const ground = await startGround();
  try {
    const began = performance.now();
    return await runForgeries(ground, {
      count: wanted,
      seed,
      onProgress(tried) {
        if (tried % PROGRESS_EVERY === 0)
          say(`${tried} forgeries, ${Math.round((performance.now() - began) / 1_000)} s`);
      },
    });
  } finally {
    await ground.stop();
  }
}

function words({ tried, seconds, attacks, answers, controls, faults, ...figures }: ForgeryFigures): string {
  const kinds = Object.entries(answers).toSorted(([, one], [, other]) => other - one);
  return [
    `${tried} forgeries of ${Object.keys(attacks).length} kinds in ${seconds.toFixed(0)} s, seed ${figures.seed}`,
    `answers: ${kinds.map(([kind, times]) => `${kind} ×${times}`).join(', ')}`,
    `${controls} genuine messages between them, all accepted`,
    faults.length === 0 ? 'no forgery was taken for genuine, and none had an effect' : faults.join('\n'),
    '',
  ].join('\n');
}

const wanted = Number(count);
if (help === true) process.stdout.write(HELP);
else if (!Number.isSafeInteger(wanted) || wanted < 1) {
  say(`--count is "${count}": give a whole number from 1, for example --count 5000.`);
  process.exitCode = 1;
} else {
  const figures = await withOwnServers(() => run(wanted));
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (figures.faults.length > 0) process.exitCode = 1;
}
