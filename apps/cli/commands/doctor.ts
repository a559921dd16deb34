import { Command } from 'commander';
import type { Config } from '../../shared/config/config.ts';
import { loadDevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import { runningPostgres } from '../../shared/embedded/postgres.ts';
import { startFailure } from '../../shared/start-failure.ts';
import { readConfig } from '../context.ts';
import type { Io } from '../io.ts';
import { CliError, json, visible } from '../output.ts';
import { findStack, type Stack } from '../stack.ts';
import { fail, ok, warn, type Finding } from './doctor/check.ts';
import {
  checkNode,
  checkPorts,
  checkPostgresPrograms,
  checkStateFolder,
  checkTemporalPrograms,
} from './doctor/machine.ts';
import { checkPdp } from './doctor/pdp.ts';
import { checkDatabase, checkHealth, checkIssuer, checkTemporal } from './doctor/services.ts';

const NAME_WIDTH = 17;

/** `doctor`: looks at everything that Countersign needs, changes nothing, and says what to do. */
export function doctorCommand(io: Io): Command {
  return new Command('doctor')
    .description('check everything Countersign needs. Exit code 1 when something failed')
    .option('--json', 'print the findings as JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const findings = await examine(io, command);
      if (options.json) io.out(json({ findings }));
      else for (const finding of findings) io.out(inWords(finding));
      const failed = findings.filter(({ status }) => status === 'fail').length;
      if (failed > 0) throw new CliError(`${failed} of ${findings.length} checks failed`);
    });
}

function inWords({ name, status, message, advice }: Finding): string {
  const first = `${status.padEnd(4)}  ${name.padEnd(NAME_WIDTH)} ${visible(message)}`;
  return advice === undefined ? first : `${first}\n${' '.repeat(6 + NAME_WIDTH + 1)}${visible(advice)}`;
}

async function examine(io: Io, command: Command): Promise<Finding[]> {
  const node = checkNode(process.version);
  let read: ReturnType<typeof readConfig>;
  try {
    read = readConfig(io, command);
  } catch (error) {
    return [
      node,
      fail('configuration', startFailure(error).split('\n').join('; '), 'mend the file; README.md lists every setting'),
    ];
  }
  const { config, file } = read;
  const stack = await findStack(config.stateDir);
  // What runs is what counts, wherever the file points by now.
  const running = stack ? { ...config, urls: stack.urls } : config;
  const found = [node, ok('configuration', file), checkStateFolder(config.stateDir)];
  found.push(...(await checkPorts(config, stack)));
  found.push(...(await checkStanding(io, config, stack)));
  if (stack || config.mode === 'production') found.push(...(await checkServing(io, running)));
  else found.push(warn('services', 'not running', 'start them with `npm start`'));
  return found;
}

/** What everything stands on: answering, or ready to be started. */
async function checkStanding(io: Io, config: Config, stack: Stack | undefined): Promise<Finding[]> {
  const { environment } = io;
  const databaseUrl = environment.databaseUrl ?? (await runningPostgres(config.stateDir));
  const address = config.temporal.address ?? stack?.temporalAddress;
  const [database, temporal] = await Promise.all([
    databaseUrl === undefined ? [checkPostgresPrograms(config, environment)] : checkDatabase(databaseUrl),
    address === undefined ? checkTemporalPrograms(environment) : checkTemporal(config, address),
  ]);
  return [...database, temporal];
}

async function checkServing(io: Io, config: Config): Promise<Finding[]> {
  const { urls } = config;
  const found = await Promise.all([
    checkIssuer(config),
    checkPdp(config, await pdpToken(io, config)),
    checkHealth('approvals', urls.approvals),
    checkHealth('gateway', urls.gateway),
    checkHealth('audit', urls.audit),
  ]);
  return found.flat();
}

async function pdpToken(io: Io, config: Config): Promise<string | undefined> {
  if (config.mode === 'production') return io.environment.variables['COUNTERSIGN_PDP_TOKEN'];
  return (await loadDevelopmentSecrets(config.stateDir)).secrets.pdpToken;
}
