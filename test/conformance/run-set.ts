import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
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

/** What is tried. */
export interface Subject {
  /** As the suite takes it: the kind, then an address or a command, and what else the suite has to know. */
  readonly args: readonly string[];
  /** Does what a line of the suite's output asks of a person. A failure ends the run. */
  readonly onLine?: (line: string) => Promise<void>;
}

/** Runs a set against a subject, and reads the suite's report on each scenario. */
export async function runSet(set: ConformanceSet, programs: ForeignPrograms, subject: Subject): Promise<Finding[]> {
  const script = programs.path(set.package, 'dist', 'index.js');
  const findings: Finding[] = [];
  for (const args of set.runs) {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-conformance-'));
    try {
      const command = [programs.node, script, ...subject.args, ...args, '--output-dir', folder];
      const output = await run(command, folder, subject.onLine);
      for (const scenario of scenariosIn(output)) findings.push(...findingsOf(scenario, folder));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return findings;
}

/** The suite's output names the scenarios it began: a scenario that broke off leaves nothing else. */
function scenariosIn(output: string): string[] {
  const names = [
    ...output.matchAll(/^(?:Running client scenario (?:for authorization server )?'|Starting scenario: )([^'\s]+)/gm),
  ].map(([, name = '']) => name);
  if (names.length === 0) throw new Error(`the conformance suite ran nothing: ${output.slice(-2_000)}`);
  return [...new Set(names)];
}

function findingsOf(scenario: string, folder: string): Finding[] {
  // Those of clients are in folders by their kind.
  const [parent, own] = [join(folder, dirname(scenario)), basename(scenario)];
  const reports = existsSync(parent) ? readdirSync(parent) : [];
  const ended = reports.find((name) => {
    const [, about = ''] = /^(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? [];
    return [own, `server-${own}`, `authorization-server-${own}`].includes(about);
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
async function run([node = '', ...args]: readonly string[], cwd: string, onLine: Subject['onLine']): Promise<string> {
  const child = spawn(node, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: RUN_LIMIT_MS });
  let output = '';
  const failures: unknown[] = [];
  const read = async (stream: Readable) => {
    for await (const line of createInterface({ input: stream })) {
      output += `${line}\n`;
      await onLine?.(line).catch((error: unknown) => {
        failures.push(error);
        child.kill();
      });
    }
  };
  const [[, signal]] = await Promise.all([once(child, 'close'), read(child.stdout), read(child.stderr)]);
  if (failures.length > 0) throw failures[0];
  if (signal !== null) throw new Error(`the conformance suite did not end by itself: ${args.join(' ')}`);
  return output;
}
