import { mkdirSync } from 'node:fs';
import type { Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import { startApprovals } from '../../approvals/main.ts';
import { startAudit } from '../../audit/main.ts';
import { connectUpstreams, startGateway } from '../../gateway/main.ts';
import { startPdp, surveyTools } from '../../pdp/main.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import type { DevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import type { Environment } from '../../shared/config/env.ts';
import { migrate } from '../../shared/database/migrate.ts';
import { IN_THE_OPEN, startIdentityProvider } from '../../shared/embedded/identity-provider.ts';
import { findOrStartPostgres } from '../../shared/embedded/postgres.ts';
import { findOrStartTemporal } from '../../shared/embedded/temporal.ts';
import { isLoopbackHost } from '../../shared/http/known-hosts.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { type Limits, limitsOf } from '../../shared/limits.ts';
import type { Logger } from '../../shared/logger.ts';
import { startWorker } from '../../worker/main.ts';
import { exampleFiles } from '../example-files.ts';
import { configuredPlaces, decidesItself, unmapped } from './lint/policies.ts';

/** Everything that has started so far, to be stopped in two rounds: who serves first, what they stand on last. */
export interface Parts {
  readonly serving: Running[];
  readonly standing: Running[];
}

export interface UpDeps {
  readonly config: Config;
  readonly development: DevelopmentSecrets;
  readonly environment: Environment;
  readonly log: Logger;
  /** Told what has become ready, and what takes long. */
  readonly say: (line: string) => void;
  /** Filled while parts start, so that a start that fails half-way can be undone. */
  readonly parts: Parts;
}

export interface Starting {
  /** Rejects with the first failure, while other parts may still be starting. */
  readonly ready: Promise<{ readonly temporalAddress: string }>;
  /** Nothing starts any more. Never rejects. */
  readonly settled: Promise<unknown>;
}

/** What each part that serves is given. */
interface Own {
  readonly clock: Clock;
  readonly log: Logger;
  readonly databaseUrl: string;
}

/** Starts everything, each part as soon as what it stands on is there. */
export function startEverything(deps: UpDeps): Starting {
  const { config, development, log, parts } = deps;
  const { secrets } = development;
  mkdirSync(exampleFiles(config), { recursive: true });
  const upstreams = connectUpstreams(config, { clock: systemClock, log: log.child({ part: 'upstreams' }) });
  parts.standing.push({ name: 'upstreams', stop: () => upstreams.close() });
  const database = startDatabase(deps);
  const temporal = startTemporal(deps);
  /** Starts a part once the database is there, unless another one has already failed. */
  const serve = async (name: string, start: (own: Own) => Promise<Running>) => {
    const databaseUrl = await database;
    const own = { clock: systemClock, log: log.child({ part: name }), databaseUrl };
    parts.serving.push(await timed(deps, name, () => start(own)));
  };
  const all = [
    serve('pdp', (own) => startPdp(config, secrets, own)),
    serve('gateway', (own) => startGateway(config, secrets, { ...own, upstreams })),
    serve('audit', (own) => startAudit(config, secrets, own)),
    serve('approvals', (own) => startApprovals(config, secrets, own)),
    temporal.then((temporalAddress) =>
      serve('worker', (own) => startWorker(config, secrets, { ...own, temporalAddress, upstreams })),
    ),
    startIssuer(deps),
  ];
  const ready = Promise.all(all).then(async () => {
    // Upstreams take their time; nothing waits for them.
    void reportForgottenTools({ config, upstreams, log: log.child({ part: 'pdp' }) });
    return { temporalAddress: await temporal };
  });
  return { ready, settled: Promise.allSettled(all) };
}

async function startDatabase(deps: UpDeps): Promise<string> {
  const { config, environment, parts } = deps;
  const { stateDir } = config;
  const { databaseUrl, searchPath } = environment;
  const server = await timed(deps, 'PostgreSQL', () => findOrStartPostgres({ databaseUrl, stateDir, searchPath }));
  parts.standing.push({ name: 'PostgreSQL', stop: () => server.stop() });
  const { applied, functions, unknown } = await migrate(server.url, limitsOf(config));
  if (applied.length > 0) deps.say(`  migrated   migrations applied: ${applied.length}`);
  if (functions.length > 0) deps.say(`  migrated   functions made anew: ${functions.length}`);
  if (unknown.length > 0) deps.say(`  migrated   by a newer version: ${unknown.join(', ')}`);
  return server.url;
}

async function startTemporal(deps: UpDeps): Promise<string> {
  const { config, environment, parts, say } = deps;
  const { searchPath, cacheDir, variables } = environment;
  const server = await timed(deps, 'Temporal', () =>
    findOrStartTemporal({
      address: config.temporal.address,
      namespace: config.temporal.namespace,
      stateDir: config.stateDir,
      onProgress: (line) => say(`  ${line}`),
      ...{ searchPath, cacheDir, variables },
    }),
  );
  parts.standing.push({ name: 'Temporal', stop: () => server.stop() });
  return server.address;
}

async function startIssuer(deps: UpDeps): Promise<void> {
  const { config, development, log, parts } = deps;
  if (config.identity.issuer !== undefined) return;
  const start = () => startIdentityProvider(config, development, log.child({ part: 'identity' }));
  parts.serving.push(await timed(deps, 'identity', start));
  if (!isLoopbackHost(config.host)) deps.say(`  WARNING    ${IN_THE_OPEN}.`);
}

const NAME_WIDTH = 10;

/** Says when something is ready, how long that took and, where there is a choice, where it came from. */
async function timed<T extends object>({ say }: UpDeps, name: string, start: () => Promise<T>): Promise<T> {
  const began = systemClock.monotonicMs();
  const started = await start();
  const how = 'how' in started && typeof started.how === 'string' ? `  ${started.how}` : '';
  say(`  ${name.padEnd(NAME_WIDTH)} ${((systemClock.monotonicMs() - began) / 1_000).toFixed(1)} s${how}`);
  return started;
}

/** Of the time of a stop: calls in flight get the first part; what is left after both is for the end of the process. */
const DRAIN = 0.5;
const LEAVE = 0.48;

/**
 * Stops everything within `stopMs` of the limits: first all that serves, so that work in flight can finish on what it stands on;
 * then Temporal, PostgreSQL and the upstreams. Answers the names of what did not stop cleanly.
 */
export async function stopEverything({ serving, standing }: Parts, { stopMs }: Limits): Promise<string[]> {
  const unclean: string[] = [];
  await stopTogether(serving, stopMs * DRAIN, unclean);
  await stopTogether(standing, stopMs * LEAVE, unclean);
  return unclean;
}

async function stopTogether(parts: readonly Running[], withinMs: number, unclean: string[]): Promise<void> {
  const waiting = new Set(parts.map(({ name }) => name));
  const stopping = parts.map(async (part) => {
    try {
      await part.stop();
    } catch {
      unclean.push(part.name);
    }
    waiting.delete(part.name);
  });
  const over = new AbortController();
  await Promise.race([Promise.all(stopping), systemClock.after(withinMs, over.signal)]);
  over.abort();
  unclean.push(...waiting);
}

/**
 * Says once, when the upstreams have listed their tools, which of these no policy permits in any case: every call of them is refused,
 * and their policy may have been forgotten. Never rejects.
 */
export async function reportForgottenTools({
  config,
  upstreams,
  log,
}: {
  config: Config;
  upstreams: Pick<Upstreams, 'tools'>;
  log: Logger;
}): Promise<void> {
  if (!decidesItself(config)) return;
  try {
    const { forgotten } = await surveyTools(configuredPlaces(config), unmapped(await upstreams.tools()));
    if (forgotten.length === 0) return;
    const message =
      `no policy permits ${forgotten.length === 1 ? 'this tool' : 'these tools'} in any case, so every call is refused: ` +
      `${forgotten.join(', ')}. Name them in ${config.pdp.policies}, or leave it so`;
    log.warn({ tools: forgotten }, message);
  } catch (error) {
    log.info({ err: error }, 'whether policies permit the tools cannot be said');
  }
}
