import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { sha256 } from '../../apps/shared/crypto.ts';
import { startApprovals } from '../../apps/approvals/main.ts';
import { startGateway } from '../../apps/gateway/main.ts';
import { startPdp } from '../../apps/pdp/main.ts';
import type { Config } from '../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import type { Secrets } from '../../apps/shared/config/secrets.ts';
import { type Running, stopAll } from '../../apps/shared/lifecycle.ts';
import { callDigest } from '../../workflows/domain/gated-call/call-binding.ts';
import { testConfig } from '../support/config.ts';
import { createTestDatabase } from '../support/database.ts';
import { DEFAULT_POLICIES } from '../support/pdp.ts';
import { systemTime } from '../support/time.ts';

/** One request to one of the real endpoints. */
export interface Post {
  readonly to: 'submission' | 'question' | 'callback' | 'decision';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

/** A question of the gateway, in the form that the PDP gets. */
export type Question = ReturnType<typeof aQuestion>;

export interface Denial {
  readonly evaluation_id: string;
  readonly expires_at: string;
  readonly binding_token: string;
}

export interface Approval {
  readonly id: string;
  readonly approved_until: string;
  readonly state: string;
}

/** The real decision point, approval service and gateway over a real database, and the way to talk to them. */
export interface Ground {
  readonly config: Config;
  readonly secrets: Secrets;
  /** Posts to an endpoint; `accepted` says whether the endpoint took the message for genuine. */
  post(what: Post): Promise<{ readonly accepted: boolean; readonly status: number; readonly text: string }>;
  /** A status of the approval service, as the gateway reads it. */
  status(requestId: string): Promise<{ readonly result?: { readonly approval: Approval } }>;
  /** The number of results of everything that was ever taken for genuine. */
  stored(): Promise<{ readonly requests: number; readonly votes: number; readonly callbacks: number }>;
  /** The latest complaints in the logs of the parts. */
  complaints(): string;
  stop(): Promise<void>;
}

const COMPLAINTS = 5;
const ADDRESSES = {
  submission: ({ urls }: Config) => urls.accessRequests,
  question: ({ urls }: Config) => `${urls.pdp}/access/v1/evaluation`,
  callback: ({ urls }: Config) => `${urls.gateway}/callbacks/access-requests`,
  decision: ({ urls }: Config) => `${urls.approvals}/webhooks/decisions`,
} as const satisfies Record<Post['to'], (config: Config) => string>;

const COUNTS = `SELECT (SELECT count(*)::int FROM approvals.access_request) AS requests,
  (SELECT count(*)::int FROM approvals.vote) AS votes, (SELECT count(*)::int FROM gateway.callback_inbox) AS callbacks`;

/** A write of the example policies, which needs an approval; each is different. */
export function aQuestion(args: Readonly<Record<string, string>> = { path: `/srv/${randomUUID()}`, content: 'hello' }) {
  const tool = 'files__write_file';
  return {
    subject: { type: 'identity', id: 'agent' },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: tool },
    context: { agent: 'agent', arguments: args, call_digest: callDigest({ tool, arguments: args }, sha256) },
  };
}

/** Starts everything. The caller stops it. */
export async function startGround(): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'forgeries-'));
  const { secrets } = await loadDevelopmentSecrets(folder);
  const config = await testConfig(
    { baseDir: folder, stateDir: folder },
    {
      pdp: { policies: DEFAULT_POLICIES },
      // A forgery that the limit holds back proves nothing.
      approvals: { bulk: {}, maxRequestsPerSecond: 100_000 },
    },
  );
  const database = await createTestDatabase();
  const lines: string[] = [];
  const write = (line: string) => void lines.splice(0, Math.max(0, lines.push(line) - COMPLAINTS));
  const deps = { databaseUrl: database.url, log: pino({ level: 'error' }, { write }) };
  const running: Running[] = [];
  const stop = async () => {
    await stopAll(running);
    await database.drop();
    rmSync(folder, { recursive: true });
  };
  try {
    running.push(await startPdp(config, secrets, { ...deps, ...systemTime }));
    running.push(await startApprovals(config, secrets, { ...deps, ...systemTime }));
    running.push(await startGateway({ ...config, mcpServers: {} }, secrets, { ...deps, ...systemTime }));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    config,
    secrets,
    async post({ to, headers, body }) {
      const request = { method: 'POST', headers, body, redirect: 'manual' } as const;
      const { ok: isOk, status, text } = await answerTo(() => fetch(ADDRESSES[to](config), request));
      return { accepted: isOk && !(to === 'question' && /^\{"decision":false[,}]/.test(text)), status, text };
    },
    async status(requestId) {
      const headers = { authorization: `Bearer ${secrets.accessRequestToken}` };
      return (await (await fetch(`${config.urls.accessRequests}/${requestId}`, { headers })).json()) as object;
    },
    stored: async () => (await database.pool.query(COUNTS)).rows[0] as Awaited<ReturnType<Ground['stored']>>,
    complaints: () => lines.join(''),
    stop,
  };
}

const TRIES = 4;
const PAUSE_MS = 500;

/**
 * A kept connection may close just when it is used again, and on a busy machine a part may wait in vain for its
 * database: then the question is sent once more. The effects of the first try are counted at the end.
 */
async function answerTo(send: () => Promise<Response>): Promise<{ ok: boolean; status: number; text: string }> {
  for (let tried = 1; ; tried += 1) {
    try {
      const response = await send();
      const text = await response.text();
      if (response.status < 500 || tried === TRIES) return { ok: response.ok, status: response.status, text };
    } catch (error) {
      if (tried === TRIES) throw error;
    }
    await pause(PAUSE_MS);
  }
}
