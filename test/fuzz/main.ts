import { parseArgs } from 'node:util';
import { startGatewayProcess, type EventLoopDelay } from './gateway-process.ts';
import { runFuzz, type FuzzFigures } from './run-fuzz.ts';

const MAX_DELAY_MS = 50;
const HELP = `Sends random requests to the MCP endpoint of a gateway in a separate process: messages that fit their method, and the same
with changes to members, text, encoding, headers, token, method and size. For every request, the gateway goes on, answers no 5xx, shows no internal
details and serves no caller without a good token; and its event loop lets timers wait less than ${MAX_DELAY_MS} ms in 99 of 100 looks.
Exit code 1 when one of these does not hold. Then the command prints the smallest requests that show the fault, and how to repeat it.

  npm run test:fuzz                                  100,000 requests
  npm run test:fuzz -- --requests 5000               this many
  npm run test:fuzz -- --seed 7                      the requests of this seed; without it the seed is chosen, and printed
  npm run test:fuzz -- --seed 7 --path 12:3          those that a failed run named
  npm run test:fuzz -- --json                        figures as JSON on stdout
`;
const PROGRESS_EVERY = 5_000;

const {
  values: { requests, seed, path, json, help },
} = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string' },
    path: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

const say = (line: string) => process.stderr.write(`${line}\n`);

interface Figures extends FuzzFigures {
  readonly seconds: number;
  readonly delay: EventLoopDelay;
}

async function fuzz(chosen: number): Promise<Figures> {
  say(`seed ${chosen}; starting the product …`);
  const target = await startGatewayProcess();
  try {
    await target.delay();
    const began = performance.now();
    let said = 0;
    const figures = await runFuzz(target, {
      ...{ requests: Number(requests), seed: chosen, path },
      onProgress(sent) {
        if (sent < said + PROGRESS_EVERY) return;
        said = sent;
        say(`${sent} requests, ${Math.round((performance.now() - began) / 1_000)} s`);
      },
    });
    return { ...figures, seconds: (performance.now() - began) / 1_000, delay: await target.delay() };
  } finally {
    await target.stop();
  }
}

function words({ seed: chosen, sent, seconds, answers, delay, fault }: Figures): string {
  const kinds = Object.entries(answers).toSorted(([, one], [, other]) => other - one);
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  return [
    `${sent} requests in ${seconds.toFixed(0)} s, ${(sent / seconds).toFixed(0)} per second, seed ${chosen}`,
    `answers: ${kinds.map(([kind, count]) => `${kind} ×${count}`).join(', ')}`,
    `event loop let timers wait: p50 ${ms(delay.p50)}, p99 ${ms(delay.p99)} (allowed: ${MAX_DELAY_MS} ms), longest ${ms(delay.max)}`,
    fault === undefined
      ? 'no 5xx, the process still runs, no internal details shown'
      : `found, and repeated by --seed ${chosen} --path ${fault.path}:\n${fault.what}`,
    '',
  ].join('\n');
}

if (help === true) process.stdout.write(HELP);
else {
  const figures = await fuzz(seed === undefined ? Date.now() % 2 ** 31 : Number(seed));
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (figures.fault !== undefined || figures.delay.p99 >= MAX_DELAY_MS) process.exitCode = 1;
}
