import { parseArgs } from 'node:util';
import { withOwnServers } from '../support/own-servers.ts';
import { MUTANTS, tryMutant, type Verdict } from './run-mutants.ts';

const HELP = `Plants one fault after the other in the product and runs the checks on it. The checks have to find each fault.

  npm run test:mutants                       all of them
  npm run test:mutants -- --only permit      those with this word in their name
  npm run test:mutants -- --json             verdicts as JSON on stdout
`;

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});

function line({ mutant, killedBy, after, because, seconds }: Verdict): string {
  return `${mutant.padEnd(62)} ${(killedBy ?? 'survived').padEnd(10)} ${String(after).padStart(6)}  ${seconds.toFixed(1).padStart(6)} s  ${because}\n`;
}

async function main(): Promise<void> {
  const verdicts: Verdict[] = [];
  const print = (text: string) => values.json !== true && process.stdout.write(text);
  print(`${'mutant'.padEnd(62)} ${'killed by'.padEnd(10)} ${'after'.padStart(6)}  ${'time'.padStart(8)}  because\n`);
  for (const mutant of MUTANTS.filter(({ name }) => name.includes(values.only))) {
    const verdict = await tryMutant(mutant);
    verdicts.push(verdict);
    print(line(verdict));
  }
  const survivors = verdicts.filter(({ killedBy }) => killedBy === undefined);
  print(`${verdicts.length - survivors.length} of ${verdicts.length} mutants were killed\n`);
  if (values.json === true) process.stdout.write(`${JSON.stringify(verdicts, null, 2)}\n`);
  if (survivors.length > 0) process.exitCode = 1;
}

if (values.help === true) process.stdout.write(HELP);
else await withOwnServers(main);
