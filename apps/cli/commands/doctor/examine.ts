import type { Command } from 'commander';
import { pino } from 'pino';
import type { Config } from '../../../shared/config/config.ts';
import { authorityOf } from '../../../shared/config/authority-settings.ts';
import { loadDevelopmentSecrets } from '../../../shared/config/development-secrets.ts';
import { runningPostgres } from '../../../shared/embedded/postgres.ts';
import { startFailure } from '../../../shared/start-failure.ts';
import { formatProblem } from '../../../shared/config/problems.ts';
import { readConfig } from '../../context.ts';
import type { Io } from '../../io.ts';
import { findStack, type Stack } from '../../stack.ts';
import { fail, ok, warn, type Finding } from './check.ts';
import { checkNode, checkPorts, checkPostgresPrograms, checkStateFolder, checkTemporalPrograms } from './machine.ts';
import { checkAccessRequests, checkPdp } from './pdp.ts';
import { checkDatabase, checkHealth, checkIssuer, checkTemporal } from './services.ts';
import { checkToken } from './token.ts';
import { checkUpstreams } from './upstreams.ts';
import { checkWorkflows } from './workflows.ts';

/** Every check, in the order in which things stand on each other. */
export async function examine(io: Io, command: Command): Promise<Finding[]> {
  const node = checkNode(process.version);
  let read: ReturnType<typeof readConfig>;
  try {
    read = readConfig(io, command);
  } catch (error) {
    return [
      node,
      fail(
        'configuration',
        startFailure(error).split('\n').join('; '),
        'mend the file; docs/settings.md lists every setting',
      ),
    ];
  }
  const { config, file, notes } = read;
  const stack = await findStack(config);
  // What runs is what counts, wherever the file points by now.
  const running = stack ? { ...config, urls: stack.urls, authority: authorityOf(config, stack) } : config;
  const leftAside = notes.map((note) => warn('configuration', formatProblem(note), 'remove it, or leave it so'));
  const found = [node, ok('configuration', file), ...leftAside, checkStateFolder(config.stateDir)];
  found.push(...checkToken(config, io.environment.variables['COUNTERSIGN_TOKEN']));
  found.push(...(await checkPorts(config, stack)));
  found.push(...(await checkStanding(io, config, stack)));
  found.push(...(await checkUpstreams(config, pino({ level: 'silent' }))));
  if (stack || config.mode === 'production') found.push(...(await checkServing(io, running)));
  else found.push(warn('services', 'not running', 'start them with `npm start`'));
  return found;
}

async function checkEngine(config: Config, address: string): Promise<Finding[]> {
  const temporal = await checkTemporal(config, address);
  return temporal.status === 'ok' ? [temporal, await checkWorkflows(config, address)] : [temporal];
}

/** What everything stands on: answering, or ready to be started. */
async function checkStanding(io: Io, config: Config, stack: Stack | undefined): Promise<Finding[]> {
  const { environment } = io;
  const databaseUrl = environment.databaseUrl ?? (await runningPostgres(config.stateDir));
  const address = config.temporal.address ?? stack?.temporalAddress;
  const [database, temporal] = await Promise.all([
    databaseUrl === undefined ? [checkPostgresPrograms(config, environment)] : checkDatabase(databaseUrl, config),
    address === undefined ? [checkTemporalPrograms(environment)] : checkEngine(config, address),
  ]);
  return [...database, ...temporal];
}

async function checkServing(io: Io, config: Config): Promise<Finding[]> {
  const { urls } = config;
  const found = await Promise.all([
    checkIssuer(config),
    checkPdp(config, await pdpToken(io, config)),
    checkAccessRequests(config),
    checkHealth('gateway', urls.gateway, config),
    checkHealth('audit', urls.audit, config),
  ]);
  return found.flat();
}

async function pdpToken(io: Io, config: Config): Promise<string | undefined> {
  if (config.mode === 'production') return io.environment.variables['COUNTERSIGN_PDP_TOKEN'];
  return (await loadDevelopmentSecrets(config.stateDir)).secrets.pdpToken;
}
