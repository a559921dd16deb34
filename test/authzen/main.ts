import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readCaseSet } from '../../apps/pdp/tools/cases.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { createTestDatabase } from '../support/database.ts';
import { withOwnServers } from '../support/own-servers.ts';
import { CERTIFICATION, ofFiles, SCENARIOS, type Group } from './groups.ts';
import { isFull, passed, runAgainst, runOwn, type Score } from './run-groups.ts';
import { openTarget } from './target.ts';

const GROUPS = [...CERTIFICATION, ...SCENARIOS];
const HELP = `Checks a policy decision point against AuthZEN 1.0, over HTTP: the certification scenario, the published decisions and search results of the
interoperability scenarios, the binding of requestable denials, and the two published JSON schemas. Without --pdp it checks Countersign's own, with a
real Postgres and the policies of each scenario. Exit code 1 when a check fails.

  npm run test:authzen                                  all groups: ${GROUPS.map(({ name }) => name).join(', ')}, schemas
  npm run test:authzen -- --group search                some groups only (may be repeated)
  npm run test:authzen -- cases.yaml more.json          files as \`countersign policy test\` takes them, with the policies that they name
  npm run test:authzen -- --pdp https://pdp.example     another PDP, by its identifier: the certification groups, or the named ones. The PDP needs
                                                        the fixture of the scenario
  npm run test:authzen -- --pdp URL --token TOKEN       with this bearer token (or AUTHZEN_PDP_API_KEY)
  npm run test:authzen -- --json                        scores and misses as JSON on stdout
`;

const {
  positionals: files,
  values: { pdp, token, group: names, json, help },
} = parseArgs({
  allowPositionals: true,
  options: {
    pdp: { type: 'string' },
    token: { type: 'string' },
    group: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const say = (line: string) => process.stderr.write(`${line}\n`);
const print = (line: string) => process.stdout.write(`${line}\n`);

async function chosen(): Promise<readonly Group[]> {
  const unknown = names.find((name) => !GROUPS.some((group) => group.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no group ${unknown}; there are ${GROUPS.map((one) => one.name).join(', ')}`);
  const ofCases = await Promise.all(
    files.map(async (file) => {
      const { policies } = await readCaseSet(resolve(file));
      if (policies === undefined && pdp === undefined)
        throw new Error(`${file} names no policies: add \`policies: ./folder\`, or name a PDP with --pdp`);
      return ofFiles(basename(file), [resolve(file)], policies ?? '');
    }),
  );
  if (names.length > 0 || ofCases.length > 0) return [...GROUPS.filter(({ name }) => names.includes(name)), ...ofCases];
  return pdp === undefined ? GROUPS : CERTIFICATION;
}

function show(score: Score): void {
  print(`${score.group.padEnd(14)}${passed(score)}/${score.results.length}`);
  for (const { name, misses } of score.results) if (misses.length > 0) print(`  ${name}: ${misses.join('; ')}`);
}

async function run(onScore: (score: Score) => void): Promise<void> {
  const groups = await chosen();
  if (pdp !== undefined) {
    const bearer = token ?? readEnvironment().variables['AUTHZEN_PDP_API_KEY'];
    const target = await openTarget({ identifier: pdp, ...(bearer !== undefined && { token: bearer }) });
    return await runAgainst(target, groups, onScore);
  }
  say('starting Postgres …');
  await withOwnServers(async () => {
    const database = await createTestDatabase();
    try {
      await runOwn(groups, database.url, onScore);
    } finally {
      await database.drop();
    }
  });
}

if (help) process.stdout.write(HELP);
else {
  const scores: Score[] = [];
  try {
    await run((score) => {
      scores.push(score);
      if (!json) show(score);
    });
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
  if (json) print(JSON.stringify({ scores: scores.map((one) => ({ ...one, passed: passed(one) })) }, null, 2));
  if (!scores.every(isFull)) process.exitCode = 1;
}
