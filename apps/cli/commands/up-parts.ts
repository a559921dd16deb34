import { mkdirSync } from 'node:fs';
import type { Upstreams, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { startApprovals } from '../../approvals/main.ts';
import { startAudit } from '../../audit/main.ts';
import { connectUpstreams, startGateway } from '../../gateway/main.ts';
import { startPdp, surveyTools } from '../../pdp/main.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import type { LiveConfig } from '../../shared/config/live.ts';
import type { DevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import type { Environment } from '../../shared/config/env.ts';
import { migrate } from '../../shared/database/migrate.ts';
import { hostNames } from '../../shared/embedded/identity/host-names.ts';
import { hostsFile, IN_THE_OPEN, startIdentityProvider } from '../../shared/embedded/identity-provider.ts';
import { findOrStartPostgres } from '../../shared/embedded/postgres.ts';
import { findOrStartTemporal } from '../../shared/embedded/temporal.ts';
import { ruleIndex } from '../../shared/rules/rules.ts';
import { isLoopbackHost } from '../../shared/http/known-hosts.ts';
import type { Running } from '../../shared/lifecycle.ts';
import { limitsOf } from '../../shared/limits.ts';
import type { Logger } from '../../shared/logger.ts';
import { startWorker } from '../../worker/main.ts';
import { exampleFiles } from '../stack.ts';
import { configuredPlaces, decidesItself, unmapped, upstreamOf } from './lint/policies.ts';
import type { Parts } from './up-stop.ts';

export interface UpDeps {
  readonly config: Config;
  /** Changes of the configuration while everything runs. */
  readonly live: LiveConfig;
  readonly development: DevelopmentSecrets;
  readonly environment: Environment;
  readonly log: Logger;
  /** Gets a line for each part that is ready, and for each slow step. */
  readonly say: (line: string) => void;
  /** Filled while parts start, so that a failed start can stop them. */
  readonly parts: Parts;
}

export type Starting = ReturnType<typeof startEverything>;

/**
 * Starts everything, each part as soon as its infrastructure is ready. `ready` rejects with the first failure, while other parts may
 * still be starting. `settled` resolves when no part is starting any more, and never rejects.
 */
export function startEverything(deps: UpDeps) {
  const { config, development, log, parts, live } = deps;
  const { secrets } = development;
  mkdirSync(exampleFiles(config), { recursive: true });
  const upstreams = connectUpstreams(config, { clock: systemClock, log: log.child({ part: 'upstreams' }), live });
  parts.infrastructure.push({ name: 'upstreams', stop: () => upstreams.close() });
  const database = startDatabase(deps);
  const temporal = startTemporal(deps);
  type Own = Readonly<{ clock: Clock; log: Logger; databaseUrl: string; live: LiveConfig }>;
  const serve = async (name: string, start: (own: Own) => Promise<Running>) => {
    const own = { clock: systemClock, log: log.child({ part: name }), databaseUrl: await database, live };
    parts.serving.push(await timed(deps, name, () => start(own)));
  };
  const all = [
    serve('pdp', (own) => startPdp(config, secrets, own)),
    serve('gateway', (own) => startGateway(config, secrets, { ...own, upstreams })),
    serve('audit', (own) => startAudit(config, secrets, own)),
    serve('approvals', (own) =>
      startApprovals(config, secrets, { ...own, agentNames: () => hostNames(hostsFile(config)) }),
    ),
    temporal.then((temporalAddress) =>
      serve('worker', (own) => startWorker(config, secrets, { ...own, temporalAddress, upstreams })),
    ),
    startIssuer(deps),
  ];
  const ready = Promise.all(all).then(async () => {
    // Upstreams can be slow, so the start does not wait for their tools.
    const report = (now: Config) => reportForgottenTools({ config: now, upstreams, log: log.child({ part: 'pdp' }) });
    void report(config);
    parts.infrastructure.push({ name: 'reports of rules', stop: async () => leave() });
    const leave = live.follow(async (next) => void report(next));
    return { temporalAddress: await temporal };
  });
  return { ready, settled: Promise.allSettled(all) };
}

async function startDatabase(deps: UpDeps): Promise<string> {
  const { config, environment, parts } = deps;
  const { stateDir } = config;
  const { databaseUrl, searchPath } = environment;
  const server = await timed(deps, 'PostgreSQL', () => findOrStartPostgres({ databaseUrl, stateDir, searchPath }));
  parts.infrastructure.push({ name: 'PostgreSQL', stop: () => server.stop() });
  const { applied, functions, unknown } = await migrate(server.url, limitsOf(config));
  const counts = [...counted(applied, 'migrations'), ...counted(functions, 'functions')].join(', ');
  if (counts !== '') deps.say(`  migrated   ${counts}`);
  if (unknown.length > 0) deps.say(`  migrated   by a newer version: ${unknown.join(', ')}`);
  return server.url;
}

const counted = (all: readonly unknown[], what: string) => (all.length === 0 ? [] : [`${what}: ${all.length}`]);

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
  parts.infrastructure.push({ name: 'Temporal', stop: () => server.stop() });
  return server.address;
}

async function startIssuer(deps: UpDeps): Promise<void> {
  const { config, development, log, parts, live } = deps;
  if (config.identity.issuer !== undefined) return;
  const start = () => startIdentityProvider(config, development, log.child({ part: 'identity' }), { live });
  parts.serving.push(await timed(deps, 'identity', start));
  if (!isLoopbackHost(config.host)) deps.say(`  WARNING    ${IN_THE_OPEN}.`);
}

const NAME_WIDTH = 10;

/** Reports a ready part with its duration and, if there is a choice, its origin. */
async function timed<T extends object>({ say }: UpDeps, name: string, start: () => Promise<T>): Promise<T> {
  const began = systemClock.monotonicMs();
  const started = await start();
  const how = 'how' in started && typeof started.how === 'string' ? `  ${started.how}` : '';
  say(`  ${name.padEnd(NAME_WIDTH)} ${((systemClock.monotonicMs() - began) / 1_000).toFixed(1)} s${how}`);
  return started;
}

interface Survey {
  readonly config: Config;
  readonly upstreams: Pick<Upstreams, 'tools'>;
  readonly log: Logger;
}

/**
 * Logs which listed tools no policy permits in any case, because their policy may be missing, and which rules match no tool: a `deny` with a
 * wrong name protects nothing. Never rejects.
 */
export async function reportForgottenTools({ config, upstreams, log }: Survey): Promise<void> {
  if (!decidesItself(config)) return;
  try {
    const tools = await upstreams.tools();
    const { forgotten, idle } = await surveyTools(configuredPlaces(config), unmapped(tools));
    const rules = idle.filter(({ file }) => isListed(config, ruleIndex(file), tools));
    for (const { id } of rules)
      log.warn(
        { rule: id },
        `the rule "${id}" matches no tool, so it does nothing: correct its name of a tool or server`,
      );
    if (forgotten.length === 0) return;
    const place = config.pdp.rules === undefined ? config.pdp.policies : 'a rule of the configuration';
    const message =
      `nothing permits ${forgotten.length === 1 ? 'this tool' : 'these tools'} in any case, so every call is refused: ` +
      `${forgotten.join(', ')}. Name ${forgotten.length === 1 ? 'it' : 'them'} in ${place} to permit calls`;
    log.warn({ tools: forgotten }, message);
  } catch (error) {
    log.info({ err: error }, 'the tools could not be compared with the policies');
  }
}

/** Whether the upstreams that a rule is about have listed tools. Before that, no rule can be told from one that will match. */
function isListed({ pdp, mcpServers }: Config, index: number | undefined, tools: readonly UpstreamTool[]): boolean {
  const match = index === undefined ? undefined : pdp.rules?.all[index]?.match;
  if (match === undefined || match.prompt !== undefined || match.resource !== undefined) return false;
  const named = match.server ?? match.tool?.map((tool) => upstreamOf(tool, mcpServers));
  const all = named === undefined || named.some((one) => one === undefined) ? Object.keys(mcpServers) : named;
  return all.every((upstream) => tools.some((one) => one.upstream === upstream));
}
