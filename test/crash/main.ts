import { appendFileSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type { Cell } from './cell.ts';
import { CELLS, chosenCells, isDone, matrixText, shardOf, tasksFor, type Result } from './matrix.ts';
import { runMatrix } from './run-matrix.ts';
import { LABELS } from './steps.ts';

interface Options {
  readonly repeat: number;
  readonly full?: boolean;
  readonly only?: Cell[];
  readonly shard?: { part: number; of: number };
  readonly resume?: string;
  readonly json?: boolean;
  readonly rigs: number;
}

const count = (text: string) => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('a whole number from 1 on');
  return value;
};

const shard = (text: string) => {
  const [part = 0, of = 0] = text.split('/').map(Number);
  if (!(part >= 1 && part <= of && Number.isInteger(part) && Number.isInteger(of))) {
    throw new InvalidArgumentError('i/n, for example 1/4');
  }
  return { part, of };
};

/** May be given several names. */
const cellsNamed = (name: string, before: readonly Cell[] = []) => {
  const found = chosenCells([name]);
  if (found.length === 0) throw new InvalidArgumentError(`labels: ${LABELS.join(' ')}`);
  return [...new Set([...before, ...found])];
};

const program = new Command('npm run test:crash --')
  .description(
    'Breaks every commit and every network call of a tool call: before it, after it with a lost answer, and after it, in every way, ' +
      'under twenty calls at once, and checks afterwards that every promise holds. Exit code 1 when one does not.',
  )
  .option('--repeat <times>', 'runs of each cell', count, 3)
  .option('--full', 'twenty runs of each cell')
  .option('--only <names...>', 'labels (E4b), steps (E4) or single cells (E4b/kill)', cellsNamed)
  .option('--shard <i/n>', 'one of several parts of the matrix', shard)
  .option('--resume <file>', 'file of results, one JSON object a line: runs in it are skipped')
  .option('--rigs <count>', 'rigs side by side', count, 3)
  .option('--json', 'results as JSON lines on stdout instead of the matrix')
  .showHelpAfterError();

const say = (line: string) => process.stderr.write(`${line}\n`);

async function main(options: Options): Promise<number> {
  const file = options.resume ?? join(mkdtempSync(join(tmpdir(), 'countersign-matrix-')), 'results.jsonl');
  const results = readResults(file);
  const all = options.only ?? CELLS;
  const cells = options.shard === undefined ? all : shardOf(all, options.shard);
  const tasks = tasksFor(cells, options.full === true ? 20 : options.repeat).filter((task) => !isDone(task, results));
  say(`${cells.length} cells, ${tasks.length} runs to make; results go to ${file}`);
  const began = Date.now();
  let done = 0;
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  await runMatrix(tasks, {
    signal: stopping.signal,
    rigs: Math.min(options.rigs, Math.max(tasks.length, 1)),
    onResult(result) {
      results.push(result);
      appendFileSync(file, `${JSON.stringify(result)}\n`);
      done += 1;
      const minutes = ((Date.now() - began) / 60_000).toFixed(1);
      say(`${String(done).padStart(4)}/${tasks.length} ${minutes} min  ${describe(result)}`);
      for (const violation of result.violations) say(`       ${violation}`);
    },
  });
  const broken = results.filter(({ violations }) => violations.length > 0).length;
  if (options.json === true) for (const result of results) process.stdout.write(`${JSON.stringify(result)}\n`);
  else process.stdout.write(`${matrixText(results)}\n${results.length} runs, ${broken} with violations\n`);
  return broken === 0 && !stopping.signal.aborted ? 0 : 1;
}

function readResults(file: string): Result[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Result);
}

function describe({ label, action, repeat, seconds, ends, violations }: Result): string {
  const counts = Object.entries(ends).map(([state, number]) => `${number} ${state}`);
  const verdict = violations.length === 0 ? 'ok' : `${violations.length} VIOLATIONS`;
  return `${label} ${action} #${repeat}  ${seconds} s  ${verdict}  ${counts.join(', ')}`;
}

process.exitCode = await main(program.parse().opts<Options>());
