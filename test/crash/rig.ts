import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'pg';
import { stringify } from 'yaml';
import { requestPersonToken } from '../../apps/shared/auth/client-credentials.ts';
import { parseConfig, type Config } from '../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets, type DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { startInfrastructure, type Servers } from '../support/infrastructure.ts';
import { stackConfig } from '../support/stack-config.ts';
import { patiently, waitFor } from '../support/wait-for.ts';
import { connectCaller, type Caller } from './caller.ts';
import { VICTIMS, type Victim } from './steps.ts';

const LOADER = new URL('../support/typescript.mjs', import.meta.url).href;
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const PARTS = ['ledger', 'pdp', 'approvals', 'gateway', 'worker'] as const;
type Part = (typeof PARTS)[number];

/** The tool that needs an approval. */
export const TOOL = 'ledger__note';
const POLICY = `
@id("crash-note") @requestable("operator_approval") @reason("approval_required")
permit (principal, action == Action::"tools/call", resource)
when { resource.id == "${TOOL}" && context has approval && context.approval.verified
  && context.approval.template == "operator_approval" };
`;
/** Each caller is a separate person: identical calls of two people are two calls. */
export const CALLERS = ['agent-1', 'agent-2', 'agent-3', 'agent-4'] as const;
const PEOPLE = [
  { name: 'alice', displayName: 'Alice', roles: ['approver'] },
  ...CALLERS.map((name) => ({ name, displayName: name, roles: ['agent'] })),
];
/**
 * Pauses short enough that a run takes seconds. No call reaches the limits by itself, since a machine may stand still.
 */
const SETTINGS = {
  gateway: { executionTimeoutSeconds: 600, maxOpenPerCaller: 1_000 },
  worker: { resolutionPollMinSeconds: 1, resolutionPollMaxSeconds: 2, sweepIntervalMs: 200, abandonAfterSeconds: 120 },
  identity: { people: PEOPLE },
};

/** When a process died, and when its replacement was ready. */
export interface Outage {
  readonly part: Victim;
  readonly from: string;
  readonly to: string;
}

/**
 * The product as separate processes over a database that syncs, a supervisor that restarts dead processes, and a
 * ledger.
 */
export class Rig {
  readonly folder = mkdtempSync(join(tmpdir(), 'countersign-crash-'));
  readonly failpoints = join(this.folder, 'failpoints');
  readonly ledgerFile = join(this.folder, 'ledger.jsonl');
  readonly stateDir = join(this.folder, 'state');
  readonly outages: Outage[] = [];
  /** Faults without an outage. */
  readonly faults: { readonly from: string; readonly to: string }[] = [];
  readonly callers: Caller[] = [];
  /** Access token of a person who may decide. */
  approverToken = '';
  config!: Config;
  secrets!: DevelopmentSecrets;
  database!: Pool;
  #infrastructure: Servers | undefined;
  #ledgerPort = 0;
  #stopping = false;
  #stopped: Promise<void> | undefined;
  readonly #children = new Map<Part, ChildProcess>();
  readonly #ready = new Map<Part, Promise<void>>();

  async start(): Promise<void> {
    for (const folder of [this.stateDir, this.failpoints]) mkdirSync(folder, { recursive: true });
    writeFileSync(this.ledgerFile, '');
    this.#ledgerPort = await freePort();
    const raw = await stackConfig(
      { folder: this.folder, files: this.folder, journal: this.folder },
      { parts: 'apart', timeLimitFactor: 1, config: SETTINGS, policies: POLICY },
    );
    raw['mcpServers'] = { ledger: { url: `http://127.0.0.1:${this.#ledgerPort}/mcp` } };
    writeFileSync(join(this.folder, 'countersign.yaml'), stringify(raw));
    this.config = parseConfig(raw, { baseDir: this.folder, stateDir: this.stateDir });
    this.secrets = await loadDevelopmentSecrets(this.stateDir);
    this.#infrastructure = await startInfrastructure(this.config, this.secrets);
    this.database = new Pool({ connectionString: this.#infrastructure.environment.DATABASE_URL, max: 4 });
    await this.#start('ledger');
    await Promise.all(PARTS.slice(1).map((part) => this.#start(part)));
    const approver = { name: 'alice', audience: 'approvals' } as const;
    const tokenOf = (who: Parameters<typeof requestPersonToken>[2]) =>
      patiently(async () => (await requestPersonToken(this.config, this.secrets, who)).accessToken);
    this.approverToken = await tokenOf(approver);
    for (const name of CALLERS) {
      const token = await tokenOf({ name, audience: 'mcp' });
      this.callers.push(await patiently(() => connectCaller(this.config.urls.mcp, { name, token })));
    }
  }

  #start(part: Part): Promise<void> {
    const started = this.#run(part);
    this.#ready.set(part, started);
    started.catch(() => undefined);
    return started;
  }

  async #run(part: Part): Promise<void> {
    const log = openSync(this.#logFile(part), 'a');
    const child = spawn(process.execPath, this.#program(part), {
      cwd: this.folder,
      env: {
        ...process.env,
        ...this.#infrastructure?.environment,
        COUNTERSIGN_STATE: this.stateDir,
        CRASH_FAILPOINTS: this.failpoints,
        CRASH_VICTIM: part,
      },
      stdio: ['ignore', log, log],
    });
    this.#children.set(part, child);
    const startsBefore = this.#starts(part);
    child.once('exit', () => this.#restart(part));
    await waitFor(
      () => {
        if (hasEnded(child)) throw new Error(`${part} ended: ${this.log(part).slice(-2_000)}`);
        return part === 'ledger' || part === 'worker' ? this.#starts(part) > startsBefore : this.#answers(part);
      },
      { timeoutMs: 120_000 },
    );
  }

  #program(part: Part): string[] {
    const ours = ['--no-warnings', '--import', LOADER];
    if (part === 'ledger') return [...ours, here('start-ledger.ts'), String(this.#ledgerPort), this.ledgerFile, TOOL];
    const broken = [...ours, '--import', here('start-broken.ts')];
    if (part === 'gateway' || part === 'worker') return [...broken, here(`${part}-main.ts`)];
    return [...broken, packagePath('dist', `apps/${part}/main.js`)];
  }

  #restart(part: Part): void {
    if (this.#stopping || !isVictim(part)) return;
    const from = new Date().toISOString();
    const again = this.#start(part);
    again.then(
      () => this.outages.push({ part, from, to: new Date().toISOString() }),
      () => undefined,
    );
  }

  /** Resolves when every part runs and answers. Rejects when one of them cannot be restarted. */
  async healed(): Promise<void> {
    await Promise.all(this.#ready.values());
  }

  async #answers(part: 'pdp' | 'approvals' | 'gateway'): Promise<boolean> {
    const url = this.config.urls[part];
    return fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Parts that serve no port of the product write down that they are ready. */
  #starts(part: Part): number {
    return this.log(part).split('ready\n').length - 1;
  }

  #logFile(part: Part): string {
    return join(this.folder, `${part}.log`);
  }

  log(part: Part): string {
    return readFileSync(this.#logFile(part), 'utf8');
  }

  /** Everything that the product logged for operators. */
  written(): string {
    const logs = join(this.stateDir, 'logs');
    const files = [...PARTS.map((part) => this.#logFile(part)), ...readdirSync(logs).map((name) => join(logs, name))];
    return files.map((file) => readFileSync(file, 'utf8')).join('');
  }

  /** The engine's stored data, as bytes. */
  engineStore(): Buffer {
    const home = join(this.stateDir, 'temporal');
    return Buffer.concat(['temporal.db', 'temporal.db-wal'].map((name) => readFileSync(join(home, name))));
  }

  /** May be called twice: once by a signal handler and once at the normal end. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping = true;
    await Promise.allSettled(this.callers.map((caller) => caller.close()));
    await this.database?.end();
    await Promise.allSettled(this.#ready.values());
    for (const child of this.#children.values()) child.kill('SIGKILL');
    await waitFor(() => [...this.#children.values()].every(hasEnded));
    await this.#infrastructure?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const isVictim = (part: Part): part is Victim => VICTIMS.some((victim) => victim === part);

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

export async function startRig(): Promise<Rig> {
  const rig = new Rig();
  try {
    await rig.start();
    return rig;
  } catch (error) {
    await rig.stop();
    throw error;
  }
}
