import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWTPayload } from 'jose';
import { startApprovals } from '../../apps/approvals/main.ts';
import { connectUpstreams, startGateway } from '../../apps/gateway/main.ts';
import { startPdp } from '../../apps/pdp/main.ts';
import { requestPersonToken } from '../../apps/shared/auth/client-credentials.ts';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { startIdentityProvider } from '../../apps/shared/embedded/identity-provider.ts';
import { type Running, stopAll } from '../../apps/shared/lifecycle.ts';
import { startWorker } from '../../apps/worker/main.ts';
import { onFreePorts } from './config.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { startFileTools } from './file-tools.ts';
import { listOpenRequests, type ListedRequest } from './decisions.ts';
import { send } from './gateway-wire.ts';
import { recordingLog } from './pdp.ts';
import { signedToken } from './signed-tokens.ts';
import { testTemporal } from './temporal.ts';
import { untilFound } from './upstreams.ts';
import { waitFor } from './wait-for.ts';
import { PATIENT_FACTOR, systemTime } from './time.ts';

type Section = Readonly<Record<string, unknown>>;
type Half = 'pdp' | 'approvals';

export interface EnforcementOptions {
  /** Sections of the configuration, added to those that tests need. */
  readonly config?: Readonly<
    Partial<
      Record<
        'gateway' | 'worker' | 'pdp' | 'approvals' | 'accessRequests' | 'audit' | 'identity' | 'directory',
        Section
      >
    >
  >;
  /** Which halves of the authority side are the product's. */
  readonly own: readonly Half[];
  /** Whether a worker carries out what is decided. Default: yes. */
  readonly hasWorker?: boolean;
}

/** The end of a task, as its client reads it. */
export interface Ended {
  readonly status: string;
  readonly result?: { readonly isError?: boolean; readonly _meta?: Readonly<Record<string, unknown>> };
}

/** How often a call may be "not sent in time" before that is the result. */
const OVER = ['completed', 'failed', 'cancelled'];

/**
 * The real gateway and worker in this process, over a real database and a real Temporal, with a file server of this process, in front of
 * an authority side of which either half may be another vendor's. Each of the product's halves has its own database.
 */
export async function startEnforcement({ config: sections = {}, own, hasWorker = true }: EnforcementOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'enforcement-'));
  const files = join(folder, 'files');
  mkdirSync(files);
  const tools = await startFileTools();
  const temporal = await testTemporal();
  const ports = await onFreePorts();
  const defaults: Partial<Record<string, Section>> = { pdp: { policies: packagePath('policies') } };
  const withPorts = Object.entries(ports).map(([name, port]) => [
    name,
    { ...port, ...defaults[name], ...sections[name as Half] },
  ]);
  const config = parseConfig(
    {
      timeLimitFactor: PATIENT_FACTOR,
      ...{ ...Object.fromEntries(withPorts), temporal, mcpServers: { files: tools.settings } },
      worker: { resolutionPollMinSeconds: 1, resolutionPollMaxSeconds: 2, ...sections.worker },
      accessRequests: sections.accessRequests ?? {},
      ...(sections.directory && { directory: sections.directory }),
    },
    { baseDir: folder, stateDir: folder },
  );
  const development = await loadDevelopmentSecrets(folder);
  const { secrets } = development;
  const { lines, log } = recordingLog();
  const running: Running[] = [{ name: 'file tools', stop: () => tools.close() }];
  const databases: Partial<Record<Half | 'enforcement', TestDatabase>> = {};
  const connect = async (name: keyof typeof databases) => {
    const database = await createTestDatabase();
    databases[name] = database;
    running.push({ name: `database of ${name}`, stop: () => database.drop() });
    return { databaseUrl: database.url, temporalAddress: temporal.address, log, clock: systemTime.clock };
  };
  const stop = async () => {
    await stopAll(running);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    running.push(await startIdentityProvider(config, development, log));
    if (own.includes('approvals')) running.push(await startApprovals(config, secrets, await connect('approvals')));
    if (own.includes('pdp')) running.push(await startPdp(config, secrets, await connect('pdp')));
    const enforcement = await connect('enforcement');
    const upstreams = connectUpstreams(config, { log, ...systemTime });
    running.push({ name: 'upstreams', stop: () => upstreams.close() });
    running.push(await startGateway(config, secrets, { ...enforcement, upstreams }));
    if (hasWorker) running.push(await startWorker(config, secrets, { ...enforcement, upstreams }));
    // On a slow machine, the connection needs longer than a call waits for it.
    await untilFound(upstreams, 'files__write_file');
  } catch (error) {
    await stop();
    throw error;
  }
  const people = async (name: string, audience: 'mcp' | 'approvals' | 'audit') =>
    (await requestPersonToken(config, development, { name, audience })).accessToken;
  const rpc = async (method: string, params: Record<string, unknown>, token?: string) =>
    (await send({ mcpUrl: config.urls.mcp }, method, params, { token: token ?? (await people('agent', 'mcp')) })).body;
  /** Waits until the task is over. */
  const ended = (taskId: unknown): Promise<Ended> =>
    waitFor(async () => {
      const task = (await rpc('tasks/get', { taskId })).result as unknown as Ended;
      return OVER.includes(task.status) && task;
    }) as Promise<Ended>;
  return {
    ...{ config, secrets, lines, log, databases, files, calls: tools.calls, rpc, stop },
    token: people,
    /** A token of the issuer for one of the services, with these claims. */
    tokenWith: (audience: 'mcp' | 'approvals', claims: JWTPayload) => {
      const { issuer: iss, [audience]: aud } = config.urls;
      return signedToken(development, { iss, aud, scope: 'mcp approvals', ...claims });
    },
    /** Calls a tool of the file server, by its upstream name, and answers the result or the task. */
    call: async (name: string, args: Record<string, unknown>, token?: string) =>
      (await rpc('tools/call', { name: `files__${name}`, arguments: args }, token)).result as Record<string, unknown>,
    ended,
    /** Makes the call, has it approved and answers its end. */
    async carriedOut(
      make: () => Promise<Record<string, unknown>>,
      approve: () => unknown = () => undefined,
    ): Promise<Ended> {
      const { taskId } = await make();
      await approve();
      return ended(taskId);
    },
    /** Waits for the request that approvers see, and answers it. */
    async openRequest(): Promise<ListedRequest> {
      const token = await people('alice', 'approvals');
      return waitFor(async () => (await listOpenRequests(config.urls.approvals, token))[0]);
    },
    /** Votes as `alice`, in the API of the inbox. */
    async vote({ id, callDigest }: ListedRequest, verdict: 'approve' | 'deny') {
      const token = await people('alice', 'approvals');
      return fetch(`${config.urls.approvals}/requests/${id}/votes`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ verdict, callDigest }),
      });
    },
  };
}

export type Enforcement = Awaited<ReturnType<typeof startEnforcement>>;
