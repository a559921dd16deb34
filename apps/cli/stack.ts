import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import { limitsOf } from '../shared/limits.ts';
import { isAlive, until } from '../shared/embedded/process-tools.ts';

const stackSchema = z.object({
  /** The process that runs everything. */
  pid: z.number().int().positive(),
  startedAt: z.string(),
  configFile: z.string(),
  /** The file that takes the place of the example once there is one. */
  ownFile: z.string().optional(),
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
  /** Of the configuration file. Absent before the first change. */
  configuration: z
    .object({
      inForceSince: z.string(),
      rejected: z.object({ since: z.string(), problems: z.array(z.string()) }).optional(),
      pending: z.array(z.string()),
    })
    .optional(),
});

/** A running `countersign up`, as its state folder records it. Holds no secret. */
export type Stack = z.infer<typeof stackSchema>;

/** A running stack looks at its file every second, and reads it when it has come to rest. */
const TAKEN_WITHIN_MS = 10_000;

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
export async function findStack(
  place: StackPlace,
  withinMs: number = limitsOf(place).stackProbeMs,
): Promise<Stack | undefined> {
  const stack = recordedStack(place);
  if (stack === undefined) return undefined;
  return (await isHealthy(stack.urls.gateway, withinMs)) ? stack : undefined;
}

/** The stack whose process runs, whether it answers or not. Of a killed stack, another process may have the number by now. */
export function recordedStack({ stateDir }: Pick<StackPlace, 'stateDir'>): Stack | undefined {
  const stack = readStack(stateDir);
  return stack !== undefined && isAlive(stack.pid) ? stack : undefined;
}

/** What becomes of a change of the configuration file. `unknown`: there is no answer yet. */
export type Taken = 'in force' | 'refused' | 'unknown';

/** Waits until the running stack has read a change of its file. `before`: the stack as it was before the change. */
export async function untilTaken(place: StackPlace, before: Stack): Promise<Taken> {
  const { inForceSince, rejected } = before.configuration ?? {};
  const look = (): Taken | undefined => {
    const now = readStack(place.stateDir)?.configuration;
    if (now === undefined) return undefined;
    if (now.rejected !== undefined && !isDeepStrictEqual(now.rejected, rejected)) return 'refused';
    return now.inForceSince === inForceSince ? undefined : 'in force';
  };
  return (await until(look, { withinMs: TAKEN_WITHIN_MS * place.timeLimitFactor, everyMs: 50 })) ?? 'unknown';
}

function readStack(stateDir: string): Stack | undefined {
  try {
    return stackSchema.parse(JSON.parse(readFileSync(fileOf(stateDir), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Whether one of our services is healthy at this address. */
export async function isHealthy(url: string, withinMs: number): Promise<boolean> {
  const signal = systemClock.signalAfter(withinMs);
  try {
    const response = await fetch(`${url}/healthz`, { signal, redirect: 'manual' });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

type OwnPort = ReturnType<typeof portsOf>[number];

/** The ports of `countersign up`, with their settings. The embedded identity provider has one, another provider does not. */
function portsOf({ gateway, pdp, approvals, audit, identity, urls }: Config) {
  return [
    { setting: 'gateway.port', port: gateway.port, url: urls.gateway },
    { setting: 'pdp.port', port: pdp.port, url: urls.pdp },
    { setting: 'approvals.port', port: approvals.port, url: urls.approvals },
    { setting: 'audit.port', port: audit.port, url: urls.audit },
    ...(identity.issuer === undefined ? [{ setting: 'identity.port', port: identity.port, url: urls.issuer }] : []),
  ];
}

function portTrouble(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** A port that cannot be used, and why: `EADDRINUSE`, `EACCES` or another code. */
export type TroubledPort = OwnPort & { readonly trouble: string };

/** The ports of `countersign up` that cannot be used, without those that the running stack uses itself. */
export async function troubledPorts(config: Config, ours: readonly string[] = []): Promise<readonly TroubledPort[]> {
  const others = portsOf(config).filter(({ url }) => !ours.includes(url));
  const found = await Promise.all(
    others.map(async (own) => ({ ...own, trouble: await portTrouble(config.host, own.port) })),
  );
  return found.flatMap(({ trouble, ...own }) => (trouble === undefined ? [] : [{ ...own, trouble }]));
}

/** The problems of ports that cannot be used, each with the next step after a semicolon. */
export function portProblems(troubled: readonly TroubledPort[]): readonly string[] {
  const taken = troubled.filter(({ trouble }) => trouble === 'EADDRINUSE');
  if (taken.length < 2) return troubled.map(portAdvice);
  const list = (of: (one: TroubledPort) => string | number) => taken.map(of).join(', ');
  const ports = `ports ${list(({ port }) => port)} are in use, as by a Countersign of another folder`;
  const others = troubled.filter((one) => !taken.includes(one));
  return [`${ports}; stop it, or set ${list(({ setting }) => setting)} in countersign.yaml`, ...others.map(portAdvice)];
}

function portAdvice({ setting, port, trouble }: TroubledPort): string {
  if (trouble === 'EADDRINUSE') {
    return `port ${port} (${setting}) is in use by another program; stop that program, or set ${setting} in countersign.yaml`;
  }
  if (trouble === 'EACCES') return `port ${port} (${setting}) needs another user; set a port above 1023`;
  return `port ${port} (${setting}) cannot be used (${trouble}); set host and ${setting} in countersign.yaml`;
}

/** Folder of the file server of the example configuration. `countersign up` makes it. */
export const exampleFiles = ({ stateDir }: Pick<Config, 'stateDir'>): string => join(stateDir, 'files');

/** Whether an upstream needs the folder that the first start makes. */
export function awaitsFirstStart(config: Pick<Config, 'stateDir' | 'mcpServers'>, upstream: string): boolean {
  const folder = exampleFiles(config);
  const server = config.mcpServers[upstream];
  return server !== undefined && 'args' in server && server.args.includes(folder) && !existsSync(folder);
}
