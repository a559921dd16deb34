import { parseArgs } from 'node:util';
import { COMBINATIONS } from './combinations.ts';
import { drill, nameOf, type DrillResult } from './drill.ts';
import { MOMENTS } from './moments.ts';

const HELP = `Brings a call to each of ${MOMENTS.length} moments of its life, takes a backup, lets all calls end, and restores the backup: the database by
its rows, from a template, by its files or by a recovery; Temporal kept, restored or emptied. Then all approvers vote again,
before and after \`countersign reconcile\`. No tool may be called twice, no record may be false, and log and \`doctor\` must
report every restore that needs a person. Exit code 1 otherwise. Starts its own Postgres and Temporal, and takes half an hour.

  npm run test:restore                          every combination
  npm run test:restore -- --only rows/kept      one of: ${COMBINATIONS.map(nameOf).join(', ')}
  npm run test:restore -- --json                results as JSON on stdout
`;

const {
  values: { only, json, help },
} = parseArgs({
  options: { only: { type: 'string', multiple: true }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});

function words({ combination, calls, ends, problems }: DrillResult): string {
  const list = Object.entries(ends).map(([end, count]) => `${end} ${count}`);
  return [`${combination}: ${calls} calls ended as ${list.join(', ')}; ${problems.length} problems`, ...problems].join(
    '\n  ',
  );
}

if (help === true) process.stdout.write(HELP);
else {
  const chosen = COMBINATIONS.filter((one) => only === undefined || only.includes(nameOf(one)));
  if (chosen.length === 0) throw new Error(`there is no combination ${only?.join(', ')}; see --help`);
  const results: DrillResult[] = [];
  for (const [index, one] of chosen.entries()) {
    const say = (what: string) => process.stderr.write(`${index + 1}/${chosen.length} ${nameOf(one)}: ${what} …\n`);
    const result = await drill(one, MOMENTS, say);
    results.push(result);
    process.stderr.write(`${words(result)}\n`);
  }
  process.stdout.write(json === true ? `${JSON.stringify(results, null, 2)}\n` : `${results.map(words).join('\n')}\n`);
  if (results.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
}
