import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Timing } from './limits.ts';
import type { Logger } from './logger.ts';

/** A part that has started. `stop` finishes work in flight and frees all resources. Call it once. */
export interface Running {
  readonly name: string;
  /** How long `stop` may take, in milliseconds. Default: `stopMs` of the limits. */
  readonly stopMs?: number;
  stop(): Promise<void>;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Stops parts in the reverse order of their start, so that each still has its dependencies. Stops the others when one fails, and throws
 * all failures at the end.
 */
export async function stopAll(parts: readonly Running[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of [...parts].reverse()) {
    try {
      await part.stop();
    } catch (error) {
      failures.push(new Error(`${part.name} did not stop cleanly`, { cause: error }));
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'not everything stopped cleanly');
}

/**
 * Waits for SIGINT or SIGTERM, stops all parts and returns the signal. The process ends, even if parts still run, at a second signal or
 * when the limit of the slowest part is over.
 */
export async function runUntilSignal(parts: readonly Running[], { clock, limits }: Timing): Promise<NodeJS.Signals> {
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const name of SIGNALS) process.once(name, resolve);
  });
  const leave = () => process.exit(1);
  for (const name of SIGNALS) {
    process.removeAllListeners(name);
    process.once(name, leave);
  }
  const limitMs = Math.max(...parts.map(({ stopMs = limits.stopMs }) => stopMs));
  clock.once(limitMs, () => {
    process.stderr.write(`Not everything stopped within ${limitMs / 1_000} seconds; leaving.\n`);
    leave();
  });
  await stopAll(parts);
  return signal;
}

/** Logs the error that ends this process, because a collector of logs does not see what Node writes to stderr. */
export function reportCrash(log: Logger): void {
  process.on('uncaughtExceptionMonitor', (err) =>
    log.fatal({ alarm: 'process_crashed', err }, 'an error that no part handles ends this process'),
  );
}

/** Whether the module with this `import.meta.url` is the script that Node was started with. */
export function isEntryScript(moduleUrl: string): boolean {
  const script = process.argv[1];
  if (script === undefined) return false;
  try {
    return realpathSync(script) === realpathSync(fileURLToPath(moduleUrl));
  } catch {
    return false;
  }
}

/** The message for the person who started it: the problem and the next step, without a stack trace. */
export function startFailure(error: unknown): string {
  if (error instanceof CountersignError) return error.message;
  if (error instanceof Error && 'code' in error) {
    const port = 'port' in error ? String(error.port) : 'needed';
    if (error.code === 'EADDRINUSE') {
      return `port ${port} is in use. Stop the program that listens there, or set another port in countersign.yaml`;
    }
    if (error.code === 'EACCES' && 'port' in error) {
      return `this user may not listen on port ${port}. Set a port above 1023 in countersign.yaml`;
    }
    if (error.code === 'ENOTFOUND' && 'hostname' in error) {
      return `there is no host called ${String(error.hostname)}. Correct the address that names it`;
    }
    if (error.code === 'ECONNREFUSED') return `no server answers at port ${port}. Is it running?`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of errors from Node, PostgreSQL and others. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
