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

/** A running `countersign up`, as its state folder records it. Holds no secret. */
export type Stack = z.infer<typeof stackSchema>;

const fileOf = (stateDir: string) => join(stateDir, 'run.json');

/** Records the running stack for other commands. The rename keeps readers from partial files. */
export function writeStack(stateDir: string, stack: Stack): void {
  const temporary = `${fileOf(stateDir)}.${stack.pid}`;
  writeFileSync(temporary, `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, fileOf(stateDir));
}

/** Removes the record of this process. The record of another process stays. */
export function removeStack(stateDir: string, pid: number): void {
  if (readStack(stateDir)?.pid === pid) rmSync(fileOf(stateDir), { force: true });
}

/** Settings that locate a stack, and the speed of its machine. */
type StackPlace = Pick<Config, 'stateDir' | 'timeLimitFactor'>;

/** The stack that runs on the state folder. The record of a killed stack has a dead process, or a gateway that does not answer. */
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

/** Whether one of our services is healthy at this address. */
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
