import { parseArgs } from 'node:util';
import { findFaults, findProofs, LEVELS, readGaps, readRows, type Level, type Row } from './rows.ts';

const HELP = `Prints the requirements of MCP and AuthZEN, and the tests that prove each: such a test has the id in its title.

  npm run requirements                     every row, then how many are proved, by prefix and in all
  npm run requirements -- --open           only MUST rows that no test proves, with the reason
  npm run requirements -- --prefix AZ,PRJ  only rows of these prefixes
  npm run requirements -- --check          the faults of rows, gaps and titles; fails when there are any
`;

// A reader that stops early, such as `head`, closes the pipe.
process.stdout.on('error', () => process.exit());
const print = (line: string) => process.stdout.write(`${line}\n`);
const prefixOf = ({ id }: Row) => id.slice(0, id.indexOf('-'));

function printRow(
  { id, level, statement }: Row,
  proved: readonly string[] | undefined,
  reason: string | undefined,
): void {
  print(`${proved === undefined ? '  ' : '✔ '}${id.padEnd(15)}${level.padEnd(8)}${statement}`);
  for (const proof of proved ?? []) print(`${' '.repeat(17)}${proof}`);
  if (reason !== undefined) print(`${' '.repeat(17)}gap: ${reason}`);
}

/** The number of proved rows, level by level, and of all MUST rows. */
function share(rows: readonly Row[], proofs: ReadonlyMap<string, unknown>): string {
  const count = (name: string, ids: readonly string[]) =>
    ids.length === 0 ? [] : [`${name} ${ids.filter((id) => proofs.has(id)).length} of ${ids.length}`];
  const idsOf = (has: (level: Level) => boolean) => rows.filter(({ level }) => has(level)).map(({ id }) => id);
  const levels = LEVELS.flatMap((name) =>
    count(
      name,
      idsOf((level) => level === name),
    ),
  );
  return [
    ...levels,
    ...count(
      'every MUST',
      idsOf((level) => level.startsWith('MUST')),
    ),
  ].join(', ');
}

function printRows(open: boolean, prefixes: readonly string[] | undefined): void {
  const rows = readRows().filter((row) => prefixes?.includes(prefixOf(row)) ?? true);
  if (rows.length === 0)
    throw new Error(`no row has the prefix ${prefixes?.join(', ')}; without --prefix all are printed`);
  const proofs = findProofs();
  const reasons = new Map(readGaps().flatMap(({ reason, rows: ids }) => ids.map((id) => [id, reason] as const)));
  for (const row of rows) {
    const proved = proofs.get(row.id);
    if (open && (proved !== undefined || !row.level.startsWith('MUST'))) continue;
    printRow(row, proved, reasons.get(row.id));
  }
  const total = (name: string, of: readonly Row[]) => {
    print(`${name.padEnd(17)}${share(of, proofs)}`);
  };
  for (const prefix of new Set(rows.map(prefixOf))) {
    total(
      prefix,
      rows.filter((row) => prefixOf(row) === prefix),
    );
  }
  total('proved', rows);
}

function printFaults(): void {
  const faults = findFaults();
  for (const fault of faults) print(fault);
  if (faults.length > 0) process.exitCode = 1;
  else print('rows, gaps and titles agree');
}

const { values } = parseArgs({
  options: {
    open: { type: 'boolean', default: false },
    prefix: { type: 'string' },
    check: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (values.help === true) process.stdout.write(HELP);
else if (values.check === true) printFaults();
else printRows(values.open, values.prefix?.split(','));
