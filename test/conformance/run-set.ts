import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import type { ForeignPrograms } from '../support/foreign.ts';
import type { ConformanceSet } from './sets.ts';

const RUN_LIMIT_MS = 900_000;
/** Stands for a scenario that ended without reporting its checks. */
const NO_CHECKS = '(no checks)';

const checks = z.array(
  z.looseObject({
    id: z.string(),
    status: z.enum(['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO']),
    errorMessage: z.string().optional(),
  }),
);

const VERDICTS = { SUCCESS: 'passed', FAILURE: 'failed', WARNING: 'warned', SKIPPED: 'skipped' } as const;
/** `warned`: a SHOULD does not hold. The suite's score counts it as passed. */
type Verdict = (typeof VERDICTS)[keyof typeof VERDICTS];
const SEVERITY: readonly Verdict[] = ['skipped', 'passed', 'warned', 'failed'];

/** The result of one check. A check that a scenario makes several times counts with its worst result. */
export interface Finding {
  readonly scenario: string;
  readonly check: string;
  readonly verdict: Verdict;
  readonly message: string;
}

/** What is tried, as the suite takes it: a server at an address, or a command that starts a client. */
export type Subject = readonly ['server', '--url', string] | readonly ['client', '--command', string];

/** Runs a set against an address or a client, and reads the suite's report on each scenario. */
export async function runSet(set: ConformanceSet, programs: ForeignPrograms, subject: Subject): Promise<Finding[]> {
  const script = programs.path(set.package, 'dist', 'index.js');
  const findings: Finding[] = [];
  for (const args of set.runs) {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-conformance-'));
    try {
      const output = await run(programs.node, [script, ...subject, ...args, '--output-dir', folder], folder);
      for (const scenario of scenariosIn(output)) findings.push(...findingsOf(scenario, folder));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return findings;
}

/** The suite's output names the scenarios it began: a scenario that broke off leaves nothing else. */
function scenariosIn(output: string): string[] {
  const names = [...output.matchAll(/^(?:Running client scenario '|Starting scenario: )([^'\s]+)/gm)].map(
    ([, name = '']) => name,
  );
  if (names.length === 0) throw new Error(`the conformance suite ran nothing: ${output.slice(-2_000)}`);
  return [...new Set(names)];
}

function findingsOf(scenario: string, folder: string): Finding[] {
  // Those of clients are in folders by their kind.
  const [parent, own] = [join(folder, dirname(scenario)), basename(scenario)];
  const reports = existsSync(parent) ? readdirSync(parent) : [];
  const ended = reports.find((name) => {
    const [, about = ''] = /^(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? [];
    return about === own || about === `server-${own}`;
  });
  const file = join(parent, ended ?? '', 'checks.json');
  if (ended === undefined || !existsSync(file)) {
    return [{ scenario, check: NO_CHECKS, verdict: 'failed', message: 'it broke off' }];
  }
  const worst = new Map<string, Finding>();
  for (const { id, status, errorMessage = '' } of checks.parse(JSON.parse(readFileSync(file, 'utf8')))) {
    if (status === 'INFO') continue;
    const verdict = VERDICTS[status];
    const before = worst.get(id);
    if (before !== undefined && SEVERITY.indexOf(before.verdict) >= SEVERITY.indexOf(verdict)) continue;
    worst.set(id, { scenario, check: id, verdict, message: errorMessage });
  }
  return [...worst.values()];
}

/** Answers the suite's output. Its exit code says less than its report files. */
function run(node: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: RUN_LIMIT_MS });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (part: string) => (output += part));
    }
    child.once('error', reject);
    child.once('close', (_code, signal) => {
      if (signal === null) resolve(output);
      else reject(new Error(`the conformance suite did not end by itself: ${args.join(' ')}`));
    });
  });
}
