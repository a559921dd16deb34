import { resolve } from 'node:path';
import type { Command } from 'commander';
import { pino } from 'pino';
import { gatedCallWorkflowId } from '../../../../workflows/messages.ts';
import { examineUpstreams } from '../../../gateway/main.ts';
import type { Service } from '../../../shared/auth/client-credentials.ts';
import { systemClock } from '../../../shared/clock.ts';
import { authorityOf } from '../../../shared/config/authority-settings.ts';
import type { Config } from '../../../shared/config/config.ts';
import { loadDevelopmentSecrets } from '../../../shared/config/development-secrets.ts';
import { DEFAULT_STATE } from '../../../shared/config/load.ts';
import { formatProblem } from '../../../shared/config/problems.ts';
import { runningPostgres } from '../../../shared/embedded/postgres.ts';
import { openFilesLimit } from '../../../shared/http/crowd.ts';
import { limitsOf } from '../../../shared/limits.ts';
import type { Logger } from '../../../shared/logger.ts';
import { startFailure } from '../../../shared/lifecycle.ts';
import { createTemporalClient } from '../../../shared/temporal/connection.ts';
import { createGatedCallWorkflows, stuckWorkflows, WHEN_STUCK } from '../../../shared/temporal/gated-call-workflows.ts';
import { type Io, moment, readConfig } from '../../context.ts';
import { awaitsFirstStart, exampleFiles, findStack, type Stack } from '../../stack.ts';
import { attempt, fail, type Finding, ok, reason, warn } from './check.ts';
import { checkChannels } from './channels.ts';
import { checkIdentity } from './identity.ts';
import {
  checkNode,
  checkOpenFiles,
  checkPorts,
  checkPostgresPrograms,
  checkStateFolder,
  checkTemporalPrograms,
} from './machine.ts';
import { checkAccessRequests, checkDatabase, checkHealth, checkPdp, checkTemporal, checkWorkers } from './services.ts';
import { examineToken } from './token.ts';
import { lintApprovers } from '../lint/rules.ts';
import { OWN_COMMAND } from '../../own-command.ts';

/** An access token that its holder wants to know more of. */
export interface GivenToken {
  readonly text: string;
  /** The service for which it has to be. */
  readonly service?: Service | undefined;
}

/** Every check. A part comes after the parts that it needs. */
export async function examine(io: Io, command: Command, given?: GivenToken): Promise<Finding[]> {
  const node = checkNode(process.version);
  let read: ReturnType<typeof readConfig>;
  try {
    read = readConfig(io, command);
  } catch (error) {
    return [node, await unusableFile(io, startFailure(error).split('\n'))];
  }
  const { config, file, ownFile, notes } = read;
  const stack = await findStack(config);
  // A running stack keeps its addresses, even if the file has changed.
  const running = stack ? { ...config, urls: stack.urls, authority: authorityOf(config, stack) } : config;
  const ignored = notes.map((note) => warn('configuration', formatProblem(note), 'you can remove it'));
  const found = [
    node,
    ok('configuration', ownFile === undefined ? file : `the example: there is no ${ownFile}`),
    ...ignored,
    ...inUse(stack),
    checkStateFolder(config.stateDir),
    checkOpenFiles(openFilesLimit()),
    ...checkApprovers(config),
  ];
  found.push(...(await checkPorts(config, stack)));
  found.push(...(await checkInfrastructure(io, config, stack)));
  found.push(...(await checkUpstreams(config, pino({ level: 'silent' }))));
  if (stack || config.mode === 'production') found.push(...(await checkServices(io, running)));
  else {
    found.push(warn('services', 'not running', `start them with \`${OWN_COMMAND} up\``));
    if (config.identity.issuer !== undefined) found.push(...(await checkIdentity(config)));
  }
  found.push(...(await checkChannels(config)));
  if (given !== undefined) found.push(...(await examineToken(running, given.text, given.service)));
  return found;
}

/** Approvers that nothing knows: requests for them are not opened, or wait in vain. */
const checkApprovers = (config: Config): Finding[] =>
  lintApprovers(config).map(({ severity, about, message }) =>
    (severity === 'error' ? fail : warn)('approvers', `${about}: ${message}`, 'correct it in the configuration'),
  );

/** A running Countersign goes on with the settings of before. Where it runs is known without the file. */
async function unusableFile({ environment, cwd }: Io, problems: readonly string[]): Promise<Finding> {
  const stateDir = resolve(cwd, environment.stateDir ?? DEFAULT_STATE);
  const stack = await findStack({ stateDir, timeLimitFactor: 1 });
  const since = stack?.configuration?.rejected?.since;
  const goesOn =
    stack === undefined
      ? ''
      : `; the running Countersign goes on with its earlier configuration${since === undefined ? '' : `, and has refused the file since ${moment(since)}`}`;
  const { message, list } = inShort(problems);
  const advice = [...list, 'correct the file; docs/settings.md lists every setting'];
  return fail('configuration', `${message}${goesOn}`, advice.join('\n'));
}

/** One problem is the message. Several are counted there, and have a line each in the list. */
function inShort(problems: readonly string[]): { message: string; list: readonly string[] } {
  const [first = '', ...others] = problems;
  return others.length === 0
    ? { message: first, list: [] }
    : { message: `${problems.length} problems`, list: problems };
}

/** Whether the running Countersign has the settings of its file. */
function inUse(stack: Stack | undefined): Finding[] {
  const { rejected, pending = [] } = stack?.configuration ?? {};
  const name = 'settings in use';
  const { message, list } = inShort(rejected?.problems ?? []);
  const advice = [...list, 'correct the file, or what it needs; it is read again when it changes'].join('\n');
  const refused =
    rejected === undefined
      ? []
      : [fail(name, `refused since ${moment(rejected.since)}, and the earlier ones stay: ${message}`, advice)];
  if (pending.length === 0) return refused;
  return [
    ...refused,
    warn(name, `these settings apply at the next start: ${pending.join(', ')}`, 'restart Countersign, or undo them'),
  ];
}

/** `isRunning`: whether workers have to be there. */
async function checkEngine(config: Config, address: string, isRunning: boolean): Promise<Finding[]> {
  const temporal = await checkTemporal(config, address);
  if (temporal.status !== 'ok') return [temporal];
  const workers = isRunning ? [await checkWorkers(config, address)] : [];
  return [temporal, ...workers, await checkWorkflows(config, address)];
}

/** Database and Temporal: running, or ready to start. */
async function checkInfrastructure(io: Io, config: Config, stack: Stack | undefined): Promise<Finding[]> {
  const { environment } = io;
  const databaseUrl = environment.databaseUrl ?? (await runningPostgres(config.stateDir));
  const address = config.temporal.address ?? stack?.temporalAddress;
  const [database, temporal] = await Promise.all([
    databaseUrl === undefined ? [checkPostgresPrograms(config, environment)] : checkDatabase(databaseUrl, config),
    address === undefined
      ? [checkTemporalPrograms(environment)]
      : checkEngine(config, address, stack !== undefined || config.mode === 'production'),
  ]);
  return [...database, ...temporal];
}

async function checkServices(io: Io, config: Config): Promise<Finding[]> {
  const { urls } = config;
  const found = await Promise.all([
    checkIdentity(config),
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

/** Whether this machine can connect to each upstream, and the upstream lists its tools. */
async function checkUpstreams(config: Config, log: Logger): Promise<Finding[]> {
  const states = await examineUpstreams(config, { clock: systemClock, log });
  return states.map((state) => {
    const { upstream } = state;
    const name = `upstream ${upstream}`;
    if ('tools' in state) return ok(name, `tools: ${state.tools}`);
    if (awaitsFirstStart(config, upstream))
      return warn(
        name,
        `its folder ${exampleFiles(config)} does not exist yet`,
        `run \`${OWN_COMMAND} up\`, which makes it`,
      );
    const isProgram = 'command' in (config.mcpServers[upstream] ?? {});
    const program = `start its program by hand, and correct mcpServers.${upstream} (command, args, env, cwd)`;
    const address = `start it, or correct mcpServers.${upstream} (url, headers, auth)`;
    return fail(name, reason(state.problem), isProgram ? program : address);
  });
}

/** Whether the deployed code can continue the workflows of gated calls from their histories. Examines the latest 500. */
export function checkWorkflows(
  { temporal, ...config }: Pick<Config, 'temporal' | 'timeLimitFactor'>,
  address: string,
): Promise<Finding> {
  const name = 'workflows';
  return attempt(name, 'fix Temporal first', async () => {
    const engine = createTemporalClient({ ...temporal, address });
    try {
      const time = { clock: systemClock, limits: limitsOf(config) };
      const workflows = createGatedCallWorkflows(engine.client, { ...time, taskQueue: temporal.taskQueue });
      const stuck = await stuckWorkflows(workflows);
      if (stuck.length === 0) return ok(name, 'all can continue from their histories');
      const shown = stuck.slice(0, 3).map(gatedCallWorkflowId).join(', ');
      return fail(name, `${stuck.length} cannot continue from their histories: ${shown}`, WHEN_STUCK);
    } finally {
      await engine.close();
    }
  });
}
