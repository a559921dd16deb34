import { mkdirSync } from 'node:fs';
import { startApprovals } from '../../approvals/main.ts';
import { startAudit } from '../../audit/main.ts';
import { connectUpstreams, startGateway } from '../../gateway/main.ts';
import { startPdp } from '../../pdp/main.ts';
import { systemClock, type Clock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import type { DevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import type { Environment } from '../../shared/config/env.ts';
import { packagePath } from '../../shared/config/package-root.ts';
import { migrate } from '../../shared/database/migrate.ts';
import { IN_THE_OPEN, startIdentityProvider } from '../../shared/embedded/identity-provider.ts';
import { findOrStartPostgres } from '../../shared/embedded/postgres.ts';
import { findOrStartTemporal } from '../../shared/embedded/temporal.ts';
import { isLoopbackHost } from '../../shared/http/loopback.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { limitsOf } from '../../shared/limits.ts';
import type { Logger } from '../../shared/logger.ts';
import { startWorker } from '../../worker/main.ts';
import { exampleFiles } from '../example-files.ts';
import { reportForgottenTools } from './up-report.ts';

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
    temporal.then((temporalAddress) =>
      serve('approvals', (own) => startApprovals(config, secrets, { ...own, temporalAddress })),
    ),
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
  const { applied, unknown } = await migrate(server.url, packagePath('prisma', 'migrations'), limitsOf(config));
  if (applied.length > 0) deps.say(`  migrated   migrations applied: ${applied.length}`);
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
