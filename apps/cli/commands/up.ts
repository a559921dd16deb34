import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { loadConfig, type LoadedConfig } from '../../shared/config/load.ts';
import { formatProblem } from '../../shared/config/problems.ts';
import { type WatchedConfig, watchConfig } from '../../shared/config/watch.ts';
import { loadDevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import { LockHeld, withStartLock } from '../../shared/embedded/process-tools.ts';
import { reportCrash } from '../../shared/lifecycle.ts';
import { limitsOf, type Timing } from '../../shared/limits.ts';
import { createLogger } from '../../shared/logger.ts';
import { demandOwnState } from '../../shared/state-folder.ts';
import { CliError, type Io, json, readConfig, visible } from '../context.ts';
import { findStack, portProblems, removeStack, type Stack, troubledPorts, writeStack } from '../stack.ts';
import { stopRequest } from '../stop-request.ts';
import { welcome } from './up-welcome.ts';
import type { Starting, UpDeps } from './up-parts.ts';
import { type Parts, stopEverything } from './up-stop.ts';

/** How long a cancelled start waits for parts that are still starting. */
const SETTLE_MS = 1_500;
/** Long enough to detect that the holder of a lock has ended. */
const LOCK_MS = 300;

/** `up`: runs everything in one process, with embedded servers where none are configured. Ends at a signal, or with npm if that started it. */
export function upCommand(io: Io): Command {
  return new Command('up')
    .description('start everything in this process: gateway, worker, PDP, inbox, audit and their servers')
    .option('--json', 'print the addresses as JSON once everything is ready')
    .action(async (options: { json?: boolean }, command: Command) => {
      const loaded = readConfig(io, command);
      await runStack(io, loaded, () => {
        io.out(options.json ? json({ urls: loaded.config.urls, pid: process.pid }) : welcome(loaded));
        return new Promise<never>(() => undefined);
      });
    });
}

/** Starts everything, calls `use`, and stops everything after that or when it is asked to. */
export async function runStack(io: Io, loaded: LoadedConfig, use: () => Promise<void>): Promise<void> {
  const { config, notes } = loaded;
  for (const note of notes) io.err(`warning  ${visible(formatProblem(note))}`);
  await refuseIfImpossible(config);
  // Before anything in it is used or written.
  demandOwnState(config.stateDir);
  // Two starts at the same time would use each other's servers.
  const file = join(config.stateDir, 'up.lock');
  let isAlone = false;
  const run = async () => {
    isAlone = true;
    await runAlone(io, loaded, use);
  };
  await withStartLock(file, run, LOCK_MS).catch((cause: unknown) => {
    if (isAlone) throw cause;
    const other = cause instanceof LockHeld && cause.holder > 0 ? `process ${cause.holder}` : 'another process';
    const message = `${other} starts or stops Countersign on ${config.stateDir}; wait until it is done, and start again`;
    throw new CliError(message, { cause });
  });
}

async function runAlone(io: Io, loaded: LoadedConfig, use: () => Promise<void>): Promise<void> {
  const began = systemClock.monotonicMs();
  const isOfNpm = io.environment.variables['npm_lifecycle_event'] !== undefined;
  const request = stopRequest({ clock: systemClock, process, isOfNpm });
  const { config, file, ownFile } = loaded;
  const deps = await prepare(io, loaded);
  reportCrash(deps.log);
  io.err(`Starting Countersign with ${ownFile === undefined ? file : `the example: there is no ${ownFile}`}`);
  // Loaded on demand, because it brings the whole product.
  const { startEverything } = await import('./up-parts.ts');
  const starting = startEverything(deps);
  const first = await Promise.race([starting.ready.catch((cause: unknown) => ({ cause })), request]);
  if (typeof first === 'string') return abandon(starting, () => stop(io, config, deps.parts));
  if ('cause' in first) return abandon(starting, () => giveUp(io, deps, first.cause));
  deps.record({ configFile: file, ownFile, temporalAddress: first.temporalAddress });
  deps.live.start();
  io.err(`Ready after ${((systemClock.monotonicMs() - began) / 1_000).toFixed(1)} s. Logs: ${config.stateDir}/logs`);
  try {
    await Promise.race([use(), request]);
  } finally {
    await deps.live.close();
    await stop(io, config, deps.parts);
  }
}

interface Prepared extends UpDeps {
  readonly live: WatchedConfig;
  /** Records the running stack, and from then on the state of its configuration. */
  record(stack: Pick<Stack, 'configFile' | 'ownFile' | 'temporalAddress'>): void;
}

async function prepare(io: Io, loaded: LoadedConfig): Promise<Prepared> {
  const { environment, cwd } = io;
  const { mode, stateDir, urls } = loaded.config;
  const log = createLogger('countersign', { mode, stateDir, level: environment.logLevel });
  const say = (line: string) => io.err(line);
  let stack: Stack | undefined;
  const fileNow = fileToFollow(loaded);
  const live = watchConfig(loaded, {
    load: () => loadConfig({ environment, configFile: fileNow(), cwd }),
    fileNow,
    onState({ file: configFile, ...configuration }) {
      if (stack !== undefined) writeStack(stateDir, { ...stack, configFile, configuration });
    },
    ...{ clock: systemClock, log: log.child({ part: 'configuration' }), say },
  });
  return {
    config: live.config,
    development: await loadDevelopmentSecrets(stateDir),
    parts: { serving: [], infrastructure: [] },
    record(found) {
      stack = { pid: process.pid, startedAt: new Date(systemClock.now()).toISOString(), urls, ...found };
      writeStack(stateDir, stack);
    },
    ...{ live, environment, log, say },
  };
}

/** The example gives way to a configuration of this folder as soon as there is one, and does not come back. */
function fileToFollow({ file, ownFile }: LoadedConfig): () => string {
  let now = file;
  return () => {
    if (ownFile !== undefined && existsSync(ownFile)) now = ownFile;
    return now;
  };
}

/** Fails before any part starts. */
async function refuseIfImpossible(config: Config): Promise<void> {
  if (config.mode === 'production') {
    throw new CliError(
      '`up` is for development; in production run each part as its own process (see docker-compose.yml)',
    );
  }
  const running = await findStack(config);
  if (running) {
    throw new CliError(
      `Countersign already runs on ${config.stateDir} (pid ${running.pid}, MCP at ${running.urls.mcp}); use it, or stop it first`,
    );
  }
  const problems = portProblems(await troubledPorts(config));
  if (problems.length > 0) throw new CliError(problems.join('\n'));
}

/** Waits a moment for parts that are still starting. A part that is not registered yet could not be stopped. */
async function abandon(starting: Starting, stopParts: () => Promise<void>): Promise<void> {
  starting.ready.catch(() => undefined);
  const over = new AbortController();
  await Promise.race([starting.settled, systemClock.after(SETTLE_MS, over.signal)]);
  over.abort();
  await stopParts();
}

/** Stops the parts of a failed start, and throws the cause. */
async function giveUp(io: Io, { config, parts }: UpDeps, cause: unknown): Promise<never> {
  io.err('Stopping the parts that had started …');
  await stopEverything(parts, timingOf(config));
  throw cause;
}

async function stop(io: Io, config: Config, parts: Parts): Promise<void> {
  io.err('Stopping …');
  removeStack(config.stateDir, process.pid);
  const unclean = await stopEverything(parts, timingOf(config));
  if (unclean.length > 0)
    throw new CliError(`these parts did not stop cleanly: ${unclean.join(', ')}. Read their logs`);
  io.err('Stopped.');
}

const timingOf = (config: Config): Timing => ({ clock: systemClock, limits: limitsOf(config) });
