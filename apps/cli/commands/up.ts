import { join } from 'node:path';
import { Command } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import type { Config, Person } from '../../shared/config/config.ts';
import type { LoadedConfig } from '../../shared/config/load.ts';
import { formatProblem } from '../../shared/config/problems.ts';
import { loadDevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import { withStartLock } from '../../shared/embedded/process-tools.ts';
import { limitsOf } from '../../shared/limits.ts';
import { createLogger } from '../../shared/logger.ts';
import { CliError, type Io, json, readConfig, visible } from '../context.ts';
import { portAdvice, portsOf, portTrouble } from '../ports.ts';
import { findStack, removeStack, writeStack } from '../stack.ts';
import { type Parts, type Starting, stopEverything, type UpDeps } from './up-parts.ts';

/** How long the end of a start waits for parts that are still starting. */
const SETTLE_MS = 1_500;
/** Long enough to find out that the holder of a lock is gone. */
const LOCK_MS = 300;

/** `up`: everything in one process, on servers of its own where none are given. Runs until SIGINT or SIGTERM. */
export function upCommand(io: Io): Command {
  return new Command('up')
    .description('start everything in this process: gateway, worker, policy, inbox, audit and what they stand on')
    .option('--json', 'print the addresses as JSON when everything is ready')
    .action(async (options: { json?: boolean }, command: Command) => {
      const loaded = readConfig(io, command);
      const { config } = loaded;
      await runStack(io, loaded, () => {
        const { urls } = config;
        io.out(options.json ? json({ urls, pid: process.pid }) : welcome(config));
        return new Promise<never>(() => undefined);
      });
    });
}

/** Starts everything, has it used, and stops it when that is over or a signal comes, whichever is first. */
export async function runStack(io: Io, loaded: LoadedConfig, use: () => Promise<void>): Promise<void> {
  const { config, notes } = loaded;
  for (const note of notes) io.err(`warning  ${visible(formatProblem(note))}`);
  await refuseIfImpossible(config);
  // Two starts at the same time would take each other's servers for their own.
  const file = join(config.stateDir, 'up.lock');
  let isAlone = false;
  const run = async () => {
    isAlone = true;
    await runAlone(io, loaded, use);
  };
  await withStartLock(file, run, LOCK_MS).catch((cause: unknown) => {
    if (isAlone) throw cause;
    const message = `Countersign is being started or stopped on ${config.stateDir} by another process; wait for that`;
    throw new CliError(`${message} (if there is none, delete ${file})`, { cause });
  });
}

async function runAlone(io: Io, { config, file }: LoadedConfig, use: () => Promise<void>): Promise<void> {
  const began = systemClock.monotonicMs();
  const signal = nextSignal();
  const deps = await prepare(io, config);
  io.err(`Starting Countersign with ${file}`);
  // Loaded only now: other commands would wait for the whole product to load.
  const { startEverything } = await import('./up-parts.ts');
  const starting = startEverything(deps);
  const first = await Promise.race([starting.ready.catch((cause: unknown) => ({ cause })), signal]);
  if (typeof first === 'string') return abandon(starting, () => leave(io, config, deps.parts));
  if ('cause' in first) return abandon(starting, () => giveUp(io, deps, first.cause));
  const { urls } = config;
  writeStack(config.stateDir, {
    pid: process.pid,
    startedAt: new Date(systemClock.now()).toISOString(),
    configFile: file,
    urls,
    temporalAddress: first.temporalAddress,
  });
  io.err(`Ready after ${((systemClock.monotonicMs() - began) / 1_000).toFixed(1)} s. Logs: ${config.stateDir}/logs`);
  try {
    await Promise.race([use(), signal]);
  } finally {
    await leave(io, config, deps.parts);
  }
}

async function prepare(io: Io, config: Config): Promise<UpDeps> {
  return {
    config,
    environment: io.environment,
    development: await loadDevelopmentSecrets(config.stateDir),
    log: createLogger('countersign', {
      mode: config.mode,
      stateDir: config.stateDir,
      level: io.environment.logLevel,
    }),
    say: (line) => io.err(line),
    parts: { serving: [], standing: [] },
  };
}

/** Everything that can be told before anything has started. */
async function refuseIfImpossible(config: Config): Promise<void> {
  if (config.mode === 'production') {
    throw new CliError(
      '`up` is for development; in production each part is a process of its own (see docker-compose.yml)',
    );
  }
  const running = await findStack(config);
  if (running) {
    throw new CliError(
      `Countersign runs already on ${config.stateDir} (pid ${running.pid}, MCP at ${running.urls.mcp}); use it, or stop it first`,
    );
  }
  for (const own of portsOf(config)) {
    const trouble = await portTrouble(config.host, own.port);
    if (trouble !== undefined) throw new CliError(portAdvice(own, trouble));
  }
}

/** Parts that are still starting get a moment to get there: what nobody knows of yet, nobody could stop. */
async function abandon(starting: Starting, stop: () => Promise<void>): Promise<void> {
  starting.ready.catch(() => undefined);
  const over = new AbortController();
  await Promise.race([starting.settled, systemClock.after(SETTLE_MS, over.signal)]);
  over.abort();
  await stop();
}

/** Undoes a start that failed, and says why it did. */
async function giveUp(io: Io, { config, parts }: UpDeps, cause: unknown): Promise<never> {
  io.err('Stopping what had started …');
  await stopEverything(parts, limitsOf(config));
  throw cause;
}

async function leave(io: Io, config: Config, parts: Parts): Promise<void> {
  io.err('Stopping …');
  removeStack(config.stateDir, process.pid);
  const unclean = await stopEverything(parts, limitsOf(config));
  if (unclean.length > 0) throw new CliError(`these did not stop cleanly: ${unclean.join(', ')}`);
  io.err('Stopped.');
}

/** The first SIGINT or SIGTERM. A second one ends the process at once. */
function nextSignal(): Promise<NodeJS.Signals> {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  return new Promise((resolve) => {
    let told = false;
    const hear = (signal: NodeJS.Signals) => {
      if (told) process.exit(1);
      told = true;
      resolve(signal);
    };
    for (const signal of signals) process.on(signal, hear);
  });
}

function welcome({ urls, identity }: Config): string {
  const named = (role: Person['roles'][number]) =>
    identity.issuer === undefined
      ? `sign in as ${identity.people.flatMap(({ name, roles }) => (roles.includes(role) ? [name] : [])).join(' or ')}`
      : `sign in at ${identity.issuer} with the role ${role}`;
  return [
    '',
    'Countersign is ready.',
    '',
    `  MCP    ${urls.mcp}`,
    `  Inbox  ${urls.approvals}  ${named('approver')}`,
    `  Audit  ${urls.audit}  ${named('auditor')}`,
    '',
    'Try `npm run demo` in another terminal. Ctrl-C stops everything; nothing is lost.',
  ].join('\n');
}
