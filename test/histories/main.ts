import { parseArgs } from 'node:util';
import { createTestDatabase } from '../support/database.ts';
import { withOwnServers } from '../support/own-servers.ts';
import { CONNECTIONS, replay, runHistories, wordsOf } from './run-histories.ts';

const HELP = `Lives of gated calls with random faults and events, on a real database and with the
product's own steps; all invariants are checked afterwards. The same seed gives the same histories.

  npm run test:histories                          2,000 histories, with a seed of this day
  npm run test:histories -- --count 100000        this many
  npm run test:histories -- --seed monday         others
  npm run test:histories -- --replay monday-17    one, with all its events
  npm run test:histories -- --json                figures as JSON on stdout
`;

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '2000' },
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10) },
    replay: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

async function main(): Promise<void> {
  const db = await createTestDatabase({ max: CONNECTIONS });
  try {
    const figures =
      values.replay === undefined
        ? await runHistories(db.pool, {
            count: Number(values.count),
            seed: values.seed,
            onProgress: (done) => done % 400 === 0 && process.stderr.write(`${done} histories …\n`),
          })
        : {
            ends: {},
            histories: 1,
            arrivals: 0,
            byGrant: 0,
            seconds: 0,
            failure: await replay(db.pool, values.replay),
          };
    process.stdout.write(values.json === true ? `${JSON.stringify(figures, null, 2)}\n` : wordsOf(figures));
    const { findings = [], violations = [] } = figures.failure ?? {};
    if (findings.length + violations.length > 0) process.exitCode = 1;
  } finally {
    await db.drop();
  }
}

if (values.help === true) process.stdout.write(HELP);
else await withOwnServers(main);
