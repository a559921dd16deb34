import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createEngine } from '../../apps/pdp/cedar/engine.ts';
import { readPolicyFiles } from '../../apps/pdp/cedar/policy-files.ts';
import { answerByPolicy } from '../../apps/pdp/cedar/requestable.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { packagePath } from '../../apps/shared/config/package-root.ts';
import { migrate } from '../../apps/shared/database/migrate.ts';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import { printReport, type Figure } from '../bench/report.ts';
import { measure, middleOf, type Sample } from '../bench/stats.ts';
import { startCerbos, startOurs, type Contender } from './contenders.ts';
import { askingQuestion, questionOf, writePolicies } from './data.ts';

const HELP = `Measures the policy decision point beside Cerbos, on policies and questions that are the same, in turns and in one run, and prints the
ratios: in process, and over HTTP on loopback with connections that are kept open. Before anything is measured both have to decide a sample alike.

  npm run bench:pdp                             10, 100, 1,000 and 10,000 policies, about five minutes
  npm run bench:pdp -- --policies 100           with so many; several with commas
  npm run bench:pdp -- --quick                  fewer questions, for a first look
  npm run bench:pdp -- --json                   figures as JSON on stdout
`;

const {
  values: { policies, quick, json, help },
} = parseArgs({
  options: {
    policies: { type: 'string', default: '10,100,1000,10000' },
    quick: { type: 'boolean' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

const ROUNDS = 7;
const SAMPLE = 300;
const CALLERS = [1, 16] as const;
/** Fewer would be the compilers' time rather than that of the work. */
const WARM_UP = 3_000;
const scale = quick === true ? 0.2 : 1;
const scaled = (count: number) => Math.round(count * scale);
const say = (line: string) => process.stderr.write(`${line} …\n`);
const ms = (value: number) => `${value.toFixed(3)} ms`;

type Round = Readonly<Record<'ours' | 'cerbos', Sample>>;
interface Beside {
  readonly count: number;
  readonly ours: Contender;
  readonly cerbos: Contender;
}

const bodyOf = (nth: number, count: number) => JSON.stringify(questionOf(nth, count));

/** Throws when the two do not decide alike: then they were not told the same, and there is nothing to compare. */
async function mustAgree({ count, ours, cerbos }: Beside): Promise<number> {
  let permitted = 0;
  for (let nth = 0; nth < SAMPLE; nth += 1) {
    const body = bodyOf(nth, count);
    const [one, other] = await Promise.all([ours.ask(body), cerbos.ask(body)]);
    if (one !== other) throw new Error(`ours says ${one} and Cerbos ${other} to ${body}`);
    if (one) permitted += 1;
  }
  if (permitted === 0 || permitted === SAMPLE) throw new Error(`${permitted} of ${SAMPLE} permitted shows nothing`);
  return permitted;
}

async function roundsOf({ count, ours, cerbos }: Beside, callers: number): Promise<Round[]> {
  const questions = scaled(callers === 1 ? 800 : 3_000);
  const run = (who: Contender) => measure({ count: questions, callers }, (nth) => who.ask(bodyOf(nth, count)));
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // Whoever is first in one round is second in the next.
    const isOursFirst = round % 2 === 0;
    const first = await run(isOursFirst ? ours : cerbos);
    const second = await run(isOursFirst ? cerbos : ours);
    rounds.push(isOursFirst ? { ours: first, cerbos: second } : { ours: second, cerbos: first });
  }
  return rounds;
}

function besideFigures(rounds: readonly Round[], who: string): Figure[] {
  const figure = (name: 'p50' | 'p99'): Figure => {
    const ratio = ({ ours, cerbos }: Round) => ours[name] / cerbos[name];
    const middle = middleOf(rounds, ratio);
    const detail = `${ms(middle.ours[name])} against ${ms(middle.cerbos[name])}`;
    return {
      name: `${who}, ${name}`,
      value: ratio(middle),
      unit: '× Cerbos',
      target: '< 1',
      met: ratio(middle) < 1,
      detail,
    };
  };
  const share = ({ ours, cerbos }: Round) => ours.perSecond / cerbos.perSecond;
  const byRate = middleOf(rounds, share);
  const detail = `${byRate.ours.perSecond.toFixed(0)}/s against ${byRate.cerbos.perSecond.toFixed(0)}/s`;
  return [figure('p50'), figure('p99'), { name: `${who}, throughput`, value: share(byRate), unit: '× Cerbos', detail }];
}

async function inProcess(folder: string, count: number): Promise<{ sample: Sample; loadMs: number }> {
  const files = await readPolicyFiles(folder);
  const began = performance.now();
  const engine = createEngine(files);
  const loadMs = performance.now() - began;
  const ask = async (nth: number) => void answerByPolicy(engine, questionOf(nth, count));
  await measure({ count: scaled(WARM_UP), callers: 1 }, ask);
  return { sample: await measure({ count: scaled(10_000), callers: 1 }, ask), loadMs };
}

async function warmUp({ count, ours, cerbos }: Beside): Promise<void> {
  const work = { count: scaled(WARM_UP), callers: 16 };
  await measure(work, (nth) => ours.ask(bodyOf(nth, count)));
  await measure(work, (nth) => cerbos.ask(bodyOf(nth, count)));
}

/** A denial that can be cured: signed, and on record, before it is answered. */
async function denialFigures(ours: Contender): Promise<Figure[]> {
  const figures: Figure[] = [];
  const ask = (nth: number) => ours.ask(JSON.stringify(askingQuestion(nth)));
  await measure({ count: scaled(1_000), callers: 16 }, ask);
  for (const callers of CALLERS) {
    const { p50, p99, perSecond } = await measure({ count: scaled(2_000), callers }, ask);
    const detail = `p99 ${ms(p99)}, ${perSecond.toFixed(0)}/s`;
    figures.push({ name: `requestable denial, ${callersOf(callers)}, p50`, value: p50, unit: 'ms', detail });
  }
  return figures;
}

const callersOf = (callers: number) => (callers === 1 ? '1 caller' : `${callers} callers`);

async function figuresFor(count: number, at: { folder: string; databaseUrl: string }) {
  const folder = join(at.folder, String(count));
  const folders = { cedar: join(folder, 'cedar'), cerbos: join(folder, 'cerbos') };
  const of = `${count.toLocaleString('en')} policies`;
  say(`${of}: writing them, and deciding in process`);
  writePolicies(count, folders);
  const { sample, loadMs } = await inProcess(folders.cedar, count);
  const inProcessDetail = `p99 ${ms(sample.p99)}, ${sample.perSecond.toFixed(0)}/s; loaded in ${(loadMs / 1_000).toFixed(1)} s`;
  const figures: Figure[] = [
    { name: `${of}, in process, p50`, value: sample.p50, unit: 'ms', detail: inProcessDetail },
  ];
  say(`${of}: starting both`);
  const ours = await startOurs({ folder, policies: folders.cedar, databaseUrl: at.databaseUrl });
  const cerbos = await startCerbos({ policies: folders.cerbos });
  const beside = { count, ours, cerbos };
  try {
    const permitted = await mustAgree(beside);
    say(`${of}: both decide ${SAMPLE} questions alike, ${permitted} permitted; warming up`);
    await warmUp(beside);
    let alone = Number.NaN;
    for (const callers of CALLERS) {
      say(`${of}: ${callersOf(callers)}`);
      const rounds = await roundsOf(beside, callers);
      if (callers === 1) alone = middleOf(rounds, (round) => round.ours.p50).ours.p50;
      figures.push(...besideFigures(rounds, `${of}, ${callersOf(callers)}`));
    }
    if (count === 100) figures.push(...(await denialFigures(ours)));
    return { figures, p50: alone };
  } finally {
    await ours.stop();
    await cerbos.stop();
  }
}

async function main(counts: readonly number[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-pdp-'));
  say('starting Postgres');
  const postgres = await findOrStartPostgres({ stateDir: folder, searchPath: readEnvironment().searchPath });
  try {
    await migrate(postgres.url, packagePath('prisma', 'migrations'));
    const figures: Figure[] = [];
    const p50s = new Map<number, number>();
    for (const count of counts) {
      const found = await figuresFor(count, { folder, databaseUrl: postgres.url });
      figures.push(...found.figures);
      p50s.set(count, found.p50);
    }
    const [few, many] = [p50s.get(100), p50s.get(10_000)];
    if (few !== undefined && many !== undefined) {
      const value = many / few;
      const detail = `${ms(many)} against ${ms(few)}`;
      const name = '10,000 policies, 1 caller, p50';
      figures.push({ name, value, unit: '× that with 100', target: '≤ 3', met: value <= 3, detail });
    }
    printReport(figures, { json: json === true });
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const counts = policies.split(',').map(Number);
if (help === true) process.stdout.write(HELP);
else if (!counts.every((count) => Number.isSafeInteger(count) && count >= 10 && count % 10 === 0)) {
  process.stderr.write(`--policies is "${policies}": give multiples of 10, for example --policies 100,1000.\n`);
  process.exitCode = 1;
} else await main(counts);
