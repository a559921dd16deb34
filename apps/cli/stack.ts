import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import { limitsOf } from '../shared/limits.ts';
import { isAlive } from '../shared/embedded/process-tools.ts';

const stackSchema = z.object({
  /** The process that runs everything. */
  pid: z.number().int().positive(),
  startedAt: z.string(),
  configFile: z.string(),
  urls: z.object({
    gateway: z.string(),
    mcp: z.string(),
    pdp: z.string(),
    approvals: z.string(),
    accessRequests: z.string(),
    audit: z.string(),
    issuer: z.string(),
  }),
  temporalAddress: z.string(),
});

/** A running `countersign up`, as it wrote itself down in its state folder. Holds no secret. */
export type Stack = z.infer<typeof stackSchema>;

const fileOf = (stateDir: string) => join(stateDir, 'run.json');

/** Writes the running stack down, so that other commands find it. Nobody can read half of it. */
export function writeStack(stateDir: string, stack: Stack): void {
  const made = `${fileOf(stateDir)}.${stack.pid}`;
  writeFileSync(made, `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 });
  renameSync(made, fileOf(stateDir));
}

/** Forgets the stack of this process; that of another one stays. */
export function removeStack(stateDir: string, pid: number): void {
  if (readStack(stateDir)?.pid === pid) rmSync(fileOf(stateDir), { force: true });
}

/** What of the configuration says where a stack runs, and how fast its machine is. */
export type StackPlace = Pick<Config, 'stateDir' | 'timeLimitFactor'>;

/** The stack that runs on the state folder. A file left by a killed one is told by its pid and by silence. */
export async function findStack(place: StackPlace): Promise<Stack | undefined> {
  const stack = readStack(place.stateDir);
  if (!stack || !isAlive(stack.pid)) return undefined;
  return (await isHealthy(stack.urls.gateway, place)) ? stack : undefined;
}

function readStack(stateDir: string): Stack | undefined {
  try {
    return stackSchema.parse(JSON.parse(readFileSync(fileOf(stateDir), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Whether something answers at this address as our parts do. */
export async function isHealthy(url: string, place: Pick<StackPlace, 'timeLimitFactor'>): Promise<boolean> {
  const signal = systemClock.signalAfter(limitsOf(place).stackProbeMs);
  try {
    const response = await fetch(`${url}/healthz`, { signal, redirect: 'manual' });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
