import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { packagePath } from '../config/files.ts';
import { withStartLock } from './process-tools.ts';
import { systemClock } from '../clock.ts';

export interface TemporalProgramOptions {
  /** `PATH`. */
  readonly searchPath: string;
  /** Folder for programs that were downloaded or built, shared by all projects. */
  readonly cacheDir: string;
  /** Environment of the tools that download and build: proxies, home, Go's settings. */
  readonly variables: Readonly<Record<string, string>>;
  /** Reports progress, because this may take minutes. */
  readonly onProgress?: (line: string) => void;
  /** Receives an explanation of each failed attempt. */
  readonly tried: string[];
}

const CLI_VERSION = '1.5.1';
const CLI_MODULE = 'github.com/temporalio/cli/cmd/temporal';
const OLDEST_GO = [1, 25] as const;
/** Without internet, a download does not fail but waits. */
const DOWNLOAD_PATIENCE_MS = 10_000;
const REPORT_EVERY_MS = 15_000;
/** How long a start waits for another that downloads or builds it. */
const OBTAIN_MS = 1_200_000;

/** The `temporal` program: from the PATH, from an earlier start, downloaded by the SDK, or built with Go. `how` is for people. */
export async function findTemporalProgram(options: TemporalProgramOptions) {
  const { searchPath, cacheDir, tried } = options;
  const installed = onPath('temporal', searchPath);
  if (installed !== undefined) return { path: installed, how: 'temporal on the PATH' };
  tried.push('`temporal` on the PATH: not found');
  const built = join(cacheDir, `temporal-cli-${CLI_VERSION}`, 'temporal');
  const downloads = join(cacheDir, 'temporal-sdk');
  const obtain = async () => {
    if (isExecutable(built)) return { path: built, how: `Temporal CLI ${CLI_VERSION}, built before` };
    const kept = downloaded(downloads);
    if (kept !== undefined) return { path: kept, how: 'Temporal CLI, downloaded before' };
    if (await download(downloads, options)) {
      const path = downloaded(downloads);
      if (path !== undefined) return { path, how: 'Temporal CLI, downloaded' };
    }
    const problem = await build(built, options);
    if (problem === undefined) return { path: built, how: `Temporal CLI ${CLI_VERSION}, built with Go` };
    tried.push(`\`go install ${CLI_MODULE}@v${CLI_VERSION}\`: ${problem}`);
    return undefined;
  };
  const waits = (holder: number, seconds: number) =>
    options.onProgress?.(`Waiting for process ${holder}, which obtains the Temporal CLI (${seconds} s)`);
  return withStartLock(join(cacheDir, 'temporal.lock'), obtain, OBTAIN_MS, waits);
}

/** The program of this name that this user may run. */
export function onPath(program: string, searchPath: string): string | undefined {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The program that the SDK downloaded, if it is complete. */
function downloaded(folder: string): string | undefined {
  return namesIn(folder)
    .filter((name) => !name.endsWith('.downloading'))
    .map((name) => join(folder, name))
    .find(isExecutable);
}

async function download(folder: string, { variables, onProgress, tried }: TemporalProgramOptions): Promise<boolean> {
  mkdirSync(folder, { recursive: true });
  onProgress?.('Downloading the Temporal CLI (once; gives up after 10 seconds without data)');
  const script = packagePath('apps', 'shared', 'embedded', 'temporal-download.mjs');
  const outcome = await runTool(process.execPath, [script, folder], {
    env: variables,
    patienceMs: DOWNLOAD_PATIENCE_MS,
    progress: () => namesIn(folder).reduce((bytes, name) => bytes + sizeOf(join(folder, name)), 0),
  });
  if (outcome === undefined) return true;
  for (const name of namesIn(folder)) rmSync(join(folder, name), { force: true });
  tried.push(`official CLI as the Temporal SDK downloads it: ${outcome}`);
  return false;
}

/** Returns the problem, if any. */
async function build(
  target: string,
  { searchPath, cacheDir, variables, onProgress }: TemporalProgramOptions,
): Promise<string | undefined> {
  const env = { ...variables, PATH: searchPath };
  const found = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', env });
  const [, major, minor] = /go(\d+)\.(\d+)/.exec(found.stdout ?? '')?.map(Number) ?? [];
  const wanted = `Go ${OLDEST_GO.join('.')} or newer`;
  if (major === undefined || minor === undefined) return `no Go on the PATH; install ${wanted}`;
  if (major < OLDEST_GO[0] || (major === OLDEST_GO[0] && minor < OLDEST_GO[1])) {
    return `Go ${major}.${minor} is too old; install ${wanted}`;
  }
  for (const left of namesIn(cacheDir)) {
    if (left.startsWith('building-')) rmSync(join(cacheDir, left), { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(cacheDir, 'building-'));
  onProgress?.(`Building the Temporal CLI ${CLI_VERSION} with Go (once; about 3 minutes)`);
  const began = systemClock.monotonicMs();
  const report = () =>
    onProgress?.(`Still building the Temporal CLI (${Math.round((systemClock.monotonicMs() - began) / 1_000)} s)`);
  const stopReporting = systemClock.every(REPORT_EVERY_MS, report);
  try {
    const problem = await runTool('go', ['install', '-ldflags=-s -w', `${CLI_MODULE}@v${CLI_VERSION}`], {
      env: { ...env, GOBIN: folder, GOFLAGS: '-trimpath' },
    });
    if (problem !== undefined) return problem;
    // Renamed, so that a partial program never appears.
    mkdirSync(join(target, '..'), { recursive: true });
    renameSync(join(folder, 'temporal'), target);
    return undefined;
  } finally {
    stopReporting();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Tool {
  readonly env: Readonly<Record<string, string>>;
  /** The tool is killed when `progress` does not change for this long. Default: no limit. */
  readonly patienceMs?: number;
  readonly progress?: () => number;
}

/** Runs a program, which does not outlive this process. Returns the problem, if any. */
function runTool(command: string, args: string[], { env, patienceMs, progress }: Tool): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, cwd: packagePath(), stdio: ['ignore', 'ignore', 'pipe'] });
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-2_000)));
    let seen = progress?.();
    let since = systemClock.monotonicMs();
    let isGivenUp = false;
    const stopWatching = systemClock.every(500, () => {
      const now = progress?.();
      if (now !== seen) since = systemClock.monotonicMs();
      seen = now;
      if (patienceMs === undefined || systemClock.monotonicMs() - since < patienceMs) return;
      isGivenUp = true;
      kill();
    });
    const end = (outcome: string | undefined) => {
      stopWatching();
      process.off('exit', kill);
      resolve(outcome);
    };
    child.once('error', (error) => end(error.message));
    child.once('close', (code) => {
      if (isGivenUp) return end(`no data for ${(patienceMs ?? 0) / 1_000} seconds`);
      end(code === 0 ? undefined : reason(errors) || `ended with code ${code}`);
    });
  });
}

/** The line of a tool's output that most likely names the cause; of a long line, its end. */
function reason(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const cause = lines.find((line) => /error|cannot|failed|denied|no such/i.test(line)) ?? lines.at(-1) ?? '';
  return cause.length > 160 ? `… ${cause.slice(-160)}` : cause;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
