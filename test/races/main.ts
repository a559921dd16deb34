import { parseArgs } from 'node:util';
import { createTestDatabase } from '../support/database.ts';
import { withOwnServers } from '../support/own-servers.ts';
import { CONNECTIONS, runRaces, type RaceFigures } from './run-races.ts';

const HELP = `For each gated call, an approval that is claimed, a cancellation and a deadline come within ten milliseconds.
Exactly one of them may win, and every answer has to agree with that.

  npm run test:races                    10,000 calls
  npm run test:races -- --calls 500     this many
  npm run test:races -- --json          figures as JSON on stdout
`;

const {
  values: { calls, json, help },
} = parseArgs({
  options: { calls: { type: 'string', default: '10000' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});

async function race(count: number): Promise<RaceFigures> {
  const db = await createTestDatabase({ max: CONNECTIONS });
  try {
    return await runRaces(db.pool, count);
  } finally {
    await db.drop();
  }
}

function words({ winners, ...figures }: RaceFigures): string {
  const lines = [
    `${figures.calls} calls in ${figures.seconds.toFixed(1)} s, ${figures.callsPerSecond.toFixed(0)} per second`,
    `won by the claim ${winners.claim}, by the cancellation ${winners.cancel}, by the deadline ${winners.expiry}`,
    `contradictions in the answers to the rivals: ${figures.contradictions.length}`,
    ...figures.contradictions.slice(0, 10),
    `run again, because the database did not answer a rival in time: ${figures.unanswered.length}`,
    ...figures.unanswered.slice(0, 10),
    `invariants that do not hold: ${figures.violations.length}`,
    ...figures.violations.map(({ invariant, cases }) => `${invariant}: ${JSON.stringify(cases)}`),
  ];
  return `${lines.join('\n')}\n`;
}

if (help === true) process.stdout.write(HELP);
else {
  const figures = await withOwnServers(() => race(Number(calls)));
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (figures.contradictions.length + figures.violations.length > 0) process.exitCode = 1;
}
