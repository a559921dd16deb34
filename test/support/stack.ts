import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'pg';
import { stringify } from 'yaml';
import { requestPersonToken } from '../../apps/shared/auth/client-credentials.ts';
import { parseConfig, type Config } from '../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets, type DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { readEnvironment } from '../../apps/shared/config/env.ts';
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';
import { isAlive } from '../../apps/shared/embedded/process-tools.ts';
import { send, sendUntilAnswered, type Sent } from './gateway-wire.ts';
import { borrowServers, startInfrastructure, type Servers } from './infrastructure.ts';
import { startHere } from './stack-here.ts';
import { decisionBody, listOpenRequests, postSigned } from './decisions.ts';
import type { OpenRequest, Signing, WebhookDecision } from './decisions.ts';
import { stackConfig, type StackOptions } from './stack-config.ts';
import { ownFolder } from './test-run.ts';
import { patiently, untilAnswered, waitFor } from './wait-for.ts';

export const DEPLOYABLES = ['pdp', 'approvals', 'gateway', 'worker', 'audit'] as const;
export type Part = (typeof DEPLOYABLES)[number] | 'temporal' | 'postgres' | 'up';

/** The whole product on free ports and in its own folder, with a real file server behind it that notes each call. */
export class Stack {
  readonly folder = ownFolder('countersign-stack-');
  readonly stateDir = join(this.folder, 'state');
  readonly files = join(this.folder, 'files');
  readonly journal = join(this.folder, 'journal');
  config!: Config;
  development!: DevelopmentSecrets;
  #servers: Servers | undefined;
  #stopHere: (() => Promise<void>) | undefined;
  readonly #children = new Map<Part, ChildProcess>();
  readonly #tokens = new Map<string, Promise<string>>();
  #pool: Pool | undefined;
  #environments: NonNullable<StackOptions['environments']> = {};

  async start(options: StackOptions): Promise<void> {
    for (const folder of [this.stateDir, this.files, this.journal]) mkdirSync(folder, { recursive: true });
    this.#environments = options.environments ?? {};
    const raw = await stackConfig(this, options);
    writeFileSync(join(this.folder, 'countersign.yaml'), stringify(raw));
    this.config = parseConfig(raw, { baseDir: this.folder, stateDir: this.stateDir });
    this.development = await loadDevelopmentSecrets(this.stateDir);
    if (options.parts === 'here' || options.servers === 'shared') this.#servers = await borrowServers();
    if (options.parts === 'here') return this.#startHere(options);
    if (options.parts === 'together') return this.startPart('up');
    this.#servers = await startInfrastructure(this.config, this.development, this.#servers);
    await Promise.all(DEPLOYABLES.map((part) => this.startPart(part)));
  }

  async #startHere(options: Pick<StackOptions, 'upstreams'>): Promise<void> {
    if (this.#servers === undefined) throw new Error('there are no servers');
    this.#stopHere = await startHere(this.config, this.development, this.#servers, options);
  }

  /** Stops the product that runs `here`, and starts it anew, with nothing but what it has written. */
  async restartHere(): Promise<void> {
    await this.#stopHere?.();
    await this.#startHere({});
  }

  /** Starts a part, with these variables instead of its own, and waits until it answers. */
  async startPart(part: Part, variables = this.#environments[part as 'gateway']): Promise<void> {
    if (part === 'temporal') return this.#servers?.startTemporal();
    if (part === 'postgres') return this.#servers?.startPostgres();
    const script = part === 'up' ? ['apps/cli/main.js', 'up'] : [`apps/${part}/main.js`];
    const log = openSync(join(this.folder, `${part}.log`), 'a');
    const child = spawn(process.execPath, [packagePath('dist', script[0] ?? ''), ...script.slice(1)], {
      cwd: this.folder,
      env: {
        ...{ ...process.env, ...this.#servers?.environment },
        ...{ COUNTERSIGN_STATE: this.stateDir, ...variables },
      },
      stdio: ['ignore', log, log],
      // A terminal gives each command a process group.
      detached: part === 'up',
    });
    this.#children.set(part, child);
    const startsBefore = this.#workerStarts();
    await waitFor(
      async () => {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${part} ended: ${this.log(part)}`);
        return part === 'worker' ? this.#workerStarts() > startsBefore : this.#isReady(part);
      },
      { timeoutMs: 150_000 },
    );
  }

  async #isReady(part: Part): Promise<boolean> {
    const { urls } = this.config;
    const urlsOf = part === 'up' ? [urls.gateway, urls.pdp, urls.approvals, urls.audit] : [urls[part as 'gateway']];
    const answers = await Promise.all(
      urlsOf.map((url) =>
        fetch(`${url}/healthz`).then(
          (response) => response.ok,
          () => false,
        ),
      ),
    );
    const upIsReady = part !== 'up' || existsSync(join(this.stateDir, 'run.json'));
    return upIsReady && answers.every(Boolean);
  }

  /** The worker serves no port; its log says that it runs. */
  #workerStarts(): number {
    const file = join(this.stateDir, 'logs', 'countersign.log');
    return existsSync(file) ? readFileSync(file, 'utf8').split('the worker is running').length - 1 : 0;
  }

  log(part: Part): string {
    return readFileSync(join(this.folder, `${part}.log`), 'utf8');
  }

  signal(part: Part, signal: NodeJS.Signals): void {
    this.#child(part).kill(signal);
  }

  /** Ctrl-C: a signal to the process group of `up`. */
  interrupt(): void {
    process.kill(-this.pid('up'), 'SIGINT');
  }

  /** Kills a part without a chance to clean up, and waits until it is gone. */
  async kill(part: Part): Promise<void> {
    if (part === 'temporal') return this.#servers?.killTemporal();
    if (part === 'postgres') return this.#servers?.crashPostgres();
    this.signal(part, 'SIGKILL');
    await waitFor(() => !this.isRunning(part));
  }

  /** Ends the product and the servers it started, all at once and without a chance to clean up. */
  async killEverything(): Promise<void> {
    const pids = this.embeddedPids();
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await this.kill('up');
    await waitFor(() => !pids.some(isAlive));
  }

  /** The servers that `up` started: Postgres and Temporal. */
  embeddedPids(): number[] {
    const postgres = readFileSync(join(this.stateDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n')[0];
    const temporal = readFileSync(join(this.stateDir, 'temporal', 'server.json'), 'utf8');
    return [Number(postgres), (JSON.parse(temporal) as { pid: number }).pid];
  }

  pid(part: Part): number {
    return this.#child(part).pid ?? Number.NaN;
  }

  isRunning(part: Part): boolean {
    const child = this.#child(part);
    return child.exitCode === null && child.signalCode === null;
  }

  #child(part: Part): ChildProcess {
    const child = this.#children.get(part);
    if (child === undefined) throw new Error(`${part} was not started`);
    return child;
  }

  /** An access token of one of the people for one of the audiences. Kept for half of its hour. */
  token(name: string, audience: 'mcp' | 'approvals' | 'audit' = 'mcp'): Promise<string> {
    const key = `${name} ${audience} ${Math.floor(Date.now() / 1_800_000)}`;
    const request = () => requestPersonToken(this.config, this.development, { name, audience });
    const known = this.#tokens.get(key) ?? patiently(request).then(({ accessToken }) => accessToken);
    this.#tokens.set(key, known);
    return known;
  }

  /** As clients do, repeats the request while the answer says so. */
  rpc(token: string, method: string, params: Record<string, unknown>): Promise<Sent> {
    return sendUntilAnswered({ mcpUrl: this.config.urls.mcp }, method, params, { token });
  }

  /** Sends it once, and accepts any answer. */
  rpcOnce(token: string, method: string, params: Record<string, unknown>): Promise<Sent> {
    return send({ mcpUrl: this.config.urls.mcp }, method, params, { token });
  }

  /** Waits until this many requests are open and answers them. */
  async openRequests(count: number): Promise<OpenRequest[]> {
    const token = await this.token('alice', 'approvals');
    return patiently(async () => {
      const requests = await listOpenRequests(this.config.urls.approvals, token);
      return requests.length === count ? requests : undefined;
    });
  }

  /** Decides through the signed webhook, as `alice` by default. */
  decide(request: OpenRequest | undefined, decision: WebhookDecision): Promise<Response> {
    return this.postDecision(decisionBody(request, decision), { id: `msg_${randomUUID()}` });
  }

  /** Posts a body to the decision webhook, signed with the right secret by default; repeats it while told to. */
  postDecision(body: string, of: Omit<Signing, 'secret'> & { secret?: string }): Promise<Response> {
    const secret = this.development.secrets.decisionWebhookSecret;
    const url = `${this.config.urls.approvals}/webhooks/decisions`;
    return untilAnswered(() => postSigned(url, body, { secret, ...of }));
  }

  /** The outcome record of a task, as an auditor reads it. */
  async record(taskId: string | undefined): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${await this.token('olivia', 'audit')}`, accept: 'application/json' };
    const url = `${this.config.urls.audit}/outcome-records/by-task/${taskId}`;
    const response = await untilAnswered(() => fetch(url, { headers }));
    if (!response.ok) throw new Error(`no outcome record for ${taskId}: ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  }

  /** Every tools/call that reached the file server, in order. */
  upstreamCalls(): { at: number; name: string; arguments: Record<string, unknown>; _meta?: Record<string, unknown> }[] {
    const file = join(this.journal, 'calls.jsonl');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as ReturnType<Stack['upstreamCalls']>[0]);
  }

  /** Keeps calls back after they are noted and before they run. */
  holdUpstream(): void {
    appendFileSync(join(this.journal, 'hold'), '');
  }

  releaseUpstream(): void {
    rmSync(join(this.journal, 'hold'), { force: true });
  }

  /** The database behind the stack, for reading data that no client is told. */
  async database(): Promise<Pool> {
    const databaseUrl = this.#servers?.environment.DATABASE_URL;
    const { url } = await findOrStartPostgres({ ...readEnvironment(), stateDir: this.stateDir, databaseUrl });
    this.#pool ??= new Pool({ connectionString: url, max: 2 }).on('error', () => undefined);
    return this.#pool;
  }

  async stop(): Promise<void> {
    await this.#pool?.end();
    for (const child of [...this.#children.values()].reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await waitFor(() => child.exitCode !== null || child.signalCode !== null);
    }
    await this.#stopHere?.();
    await this.#servers?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function startStack(options: StackOptions): Promise<Stack> {
  const stack = new Stack();
  try {
    await stack.start(options);
    return stack;
  } catch (error) {
    await stack.stop();
    throw error;
  }
}
