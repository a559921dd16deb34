import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { createEvaluator } from '../../apps/pdp/engine/cedar/evaluator.ts';
import { readPolicyFiles } from '../../apps/pdp/engine/cedar/policy-folder.ts';
import { answerByPolicy } from '../../apps/pdp/offer/requestable.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { migrate } from '../../apps/shared/database/migrate.ts';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import { printReport, type Figure } from '../bench/report.ts';
import { measure, middleOf, type Sample } from '../bench/stats.ts';
import { startCerbos, startLoader, startOurs, type Contender, type Loader } from './contenders.ts';
import { KINDS, requestOf, writePolicies, type Kind } from './data.ts';
import { ORDINARY_LIMITS } from '../support/time.ts';

const HELP = `Measures the policy decision point and Cerbos with the same policies and the same requests, in turns and in one run, and prints the
ratios: in process, and over HTTP on loopback with connections that stay open. A separate process sends the requests, to one of the
two at a time. Neither logs a request. Ours checks a bearer token and has no rate limit. First, both have to decide a sample alike. In
every round they have to permit the same number of requests.

"New" requests differ in the attributes that the policies read, so each is evaluated. "Recurring" requests repeat unchanged, so our
decision cache has their answers.

  npm run bench:pdp                             10, 100, 1,000 and 10,000 policies, about eight minutes
  npm run bench:pdp -- --policies 100           with this many; several with commas
  npm run bench:pdp -- --quick                  fewer requests, for a first look
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
type Callers = (typeof CALLERS)[number];
/** With fewer requests, compilation would dominate the time. */
const WARM_UP = 8_000;
/** Numbers of the first requests: after those of the warm-up and of one caller. */
const FIRST = { 1: 10_000, 16: 100_000 } as const;
const scale = quick === true ? 0.2 : 1;
const scaled = (count: number) => Math.round(count * scale);
const say = (line: string) => process.stderr.write(`${line} …\n`);
const ms = (value: number) => `${value.toFixed(3)} ms`;

type Round = Readonly<Record<'ours' | 'cerbos', Sample>>;
interface Compared {
  readonly policies: number;
  readonly loader: Loader;
  readonly ours: Contender;
  readonly cerbos: Contender;
}

/** Throws if the two do not decide alike: then their policies differ, and there is nothing to compare. */
async function mustAgree({ policies, loader, ours, cerbos }: Compared, kind: Kind): Promise<void> {
  let permitted = 0;
  for (let from = 0; from < SAMPLE; from += 1) {
    const work = { kind, policies, from, count: 1, callers: 1 };
    const [one, other] = [await loader.load(ours, work), await loader.load(cerbos, work)];
    if (one.permitted !== other.permitted) {
      const request = JSON.stringify(requestOf(from, policies, kind));
      throw new Error(`ours permits ${one.permitted} and Cerbos ${other.permitted} of ${request}`);
    }
    permitted += one.permitted;
  }
  if (permitted === 0 || permitted === SAMPLE) throw new Error(`${permitted} of ${SAMPLE} permitted shows nothing`);
  say(`both decide ${SAMPLE} ${kind} requests alike, ${permitted} permitted`);
}

async function roundsOf({ policies, loader, ours, cerbos }: Compared, kind: Kind, callers: Callers): Promise<Round[]> {
  const count = scaled(callers === 1 ? 800 : 3_000);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // Rounds have different new requests, and the contenders take turns in going first.
    const work = { kind, policies, from: FIRST[callers] + round * count, count, callers };
    const isOursFirst = round % 2 === 0;
    const first = await loader.load(isOursFirst ? ours : cerbos, work);
    const second = await loader.load(isOursFirst ? cerbos : ours, work);
    if (first.permitted !== second.permitted)
      throw new Error(`one permits ${first.permitted} of ${count}, and the other ${second.permitted}`);
    const [one, other] = isOursFirst ? [first, second] : [second, first];
    rounds.push({ ours: one.sample, cerbos: other.sample });
  }
  return rounds;
}

function comparedFigures(rounds: readonly Round[], who: string): Figure[] {
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

async function inProcess(folder: string, policies: number): Promise<Figure[]> {
  const of = policiesOf(policies);
  const files = await readPolicyFiles(folder);
  const pauses = monitorEventLoopDelay({ resolution: 1 });
  pauses.enable();
  const began = performance.now();
  const evaluator = await createEvaluator(files);
  const seconds = (performance.now() - began) / 1_000;
  pauses.disable();
  const ask = (from: number) => async (nth: number) =>
    void answerByPolicy(evaluator, requestOf(from + nth, policies, 'new'));
  await measure({ count: WARM_UP, callers: 1 }, ask(0));
  const { p50, p99, perSecond } = await measure({ count: scaled(10_000), callers: 1 }, ask(WARM_UP));
  evaluator.release();
  const detail = `p99 ${ms(p99)}, ${perSecond.toFixed(0)}/s`;
  const loading = `loaded in ${seconds.toFixed(1)} s, between requests`;
  return [
    { name: `${of}, new, in process, p50`, value: p50, unit: 'ms', detail },
    { name: `${of}, longest pause while they load`, value: pauses.max / 1e6, unit: 'ms', detail: loading },
  ];
}

async function warmUp({ policies, loader, ours, cerbos }: Compared, kind: Kind): Promise<void> {
  const work = { kind, policies, from: SAMPLE, count: WARM_UP, callers: 16 };
  await loader.load(ours, work);
  await loader.load(cerbos, work);
}

/** A requestable denial is signed and recorded before it is answered. */
async function denialFigures({ loader, ours, policies }: Compared): Promise<Figure[]> {
  const figures: Figure[] = [];
  const work = { kind: 'curable', policies, from: 0, count: scaled(2_000) } as const;
  await loader.load(ours, { ...work, callers: 16 });
  for (const callers of CALLERS) {
    const { p50, p99, perSecond } = (await loader.load(ours, { ...work, callers })).sample;
    const detail = `p99 ${ms(p99)}, ${perSecond.toFixed(0)}/s`;
    figures.push({ name: `requestable denial, ${callersOf(callers)}, p50`, value: p50, unit: 'ms', detail });
  }
  return figures;
}

const policiesOf = (policies: number) => `${policies.toLocaleString('en')} policies`;
const callersOf = (callers: number) => (callers === 1 ? '1 caller' : `${callers} callers`);

interface At {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly loader: Loader;
}

async function figuresFor(policies: number, at: At): Promise<{ figures: Figure[]; p50: number }> {
  const folder = join(at.folder, String(policies));
  const folders = { cedar: join(folder, 'cedar'), cerbos: join(folder, 'cerbos') };
  const of = policiesOf(policies);
  say(`${of}: writing them, and deciding in process`);
  writePolicies(policies, folders);
  const figures = await inProcess(folders.cedar, policies);
  say(`${of}: starting both`);
  const ours = await startOurs({ folder, policies: folders.cedar, databaseUrl: at.databaseUrl });
  const cerbos = await startCerbos({ policies: folders.cerbos });
  const compared = { policies, loader: at.loader, ours, cerbos };
  try {
    let p50 = Number.NaN;
    for (const kind of KINDS) {
      await mustAgree(compared, kind);
      await warmUp(compared, kind);
      for (const callers of CALLERS) {
        say(`${of}, ${kind}: ${callersOf(callers)}`);
        const rounds = await roundsOf(compared, kind, callers);
        if (kind === 'new' && callers === 1) ({ p50 } = middleOf(rounds, (round) => round.ours.p50).ours);
        figures.push(...comparedFigures(rounds, `${of}, ${kind}, ${callersOf(callers)}`));
      }
    }
    if (policies === 100) figures.push(...(await denialFigures(compared)));
    return { figures, p50 };
  } finally {
    await ours.stop();
    await cerbos.stop();
  }
}

async function main(counts: readonly number[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-pdp-'));
  say('starting Postgres');
  const loader = startLoader();
  const postgres = await findOrStartPostgres({ stateDir: folder, searchPath: readEnvironment().searchPath });
  try {
    await migrate(postgres.url, ORDINARY_LIMITS);
    const figures: Figure[] = [];
    const p50s = new Map<number, number>();
    for (const count of counts) {
      const found = await figuresFor(count, { folder, databaseUrl: postgres.url, loader });
      figures.push(...found.figures);
      p50s.set(count, found.p50);
    }
    const [few, many] = [p50s.get(100), p50s.get(10_000)];
    if (few !== undefined && many !== undefined) {
      const value = many / few;
      const detail = `${ms(many)} against ${ms(few)}`;
      const name = '10,000 policies, new, 1 caller, p50';
      figures.push({ name, value, unit: '× that with 100', target: '≤ 3', met: value <= 3, detail });
    }
    printReport(figures, { json: json === true });
  } finally {
    await loader.stop();
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
