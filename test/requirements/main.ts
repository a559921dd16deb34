import { parseArgs } from 'node:util';
import { findProofs, LEVELS, readGaps, readRows, type Level } from './rows.ts';

const HELP = `Prints the requirements of the MCP side, and which test proves each: it has the id in its title.

  npm run requirements                every row
  npm run requirements -- --open      only those that have to be and that no test proves, with the reason
`;

const {
  values: { open, help },
} = parseArgs({ options: { open: { type: 'boolean' }, help: { type: 'boolean' } } });

const print = (line: string) => process.stdout.write(`${line}\n`);

function main(): void {
  const rows = readRows();
  const proofs = findProofs();
  const reasons = new Map(readGaps().flatMap(({ reason, rows: ids }) => ids.map((id) => [id, reason] as const)));
  for (const { id, level, statement } of rows) {
    const proved = proofs.get(id);
    if (open === true && (proved !== undefined || !level.startsWith('MUST'))) continue;
    print(`${proved === undefined ? '  ' : '✔ '}${id.padEnd(15)}${level.padEnd(8)}${statement}`);
    for (const proof of proved ?? []) print(`${' '.repeat(17)}${proof}`);
    const reason = reasons.get(id);
    if (reason !== undefined) print(`${' '.repeat(17)}gap: ${reason}`);
  }
  const share = (level: Level) => {
    const ids = rows.filter((row) => row.level === level).map(({ id }) => id);
    return `${level} ${ids.filter((id) => proofs.has(id)).length} of ${ids.length}`;
  };
  print(`proved: ${LEVELS.map(share).join(', ')}`);
}

if (help) process.stdout.write(HELP);
else main();
