import { Connection } from '@temporalio/client';
import type { Client } from 'pg';
import { pino } from 'pino';
import { AFTER_A_RESTORE, type FenceState, FINDINGS } from '../../../../workflows/domain/gated-call/fence.ts';
import { examineAuthority } from '../../../gateway/main.ts';
import {
  type Clock,
  clockOffset,
  CLOCKS_APART_MS,
  CLOCKS_TOO_FAR_APART_MS,
  systemClock,
} from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import { withClient } from '../../../shared/database/client.ts';
import { unfitness } from '../../../shared/database/pool.ts';
import { inBrief } from '../../../shared/database/functions.ts';
import { isPooledByTransaction, POOLED } from '../../../shared/database/pooler.ts';
import { migrationStatus } from '../../../shared/database/migrate.ts';
import { limitsOf } from '../../../shared/limits.ts';
import { boundedBy, createTemporalClient, missingNamespace } from '../../../shared/temporal/connection.ts';
import { isHealthy } from '../../stack.ts';
import { attempt, fail, type Finding, ok, warn } from './check.ts';

const OLDEST_POSTGRES = 15;

/** Whether the database answers, is new enough and writable, agrees on the time, has all migrations and has not been restored. */
export function checkDatabase(url: string, config: Pick<Config, 'mode' | 'timeLimitFactor'>): Promise<Finding[]> {
  const session = { connectionString: url, connectionTimeoutMillis: limitsOf(config).examinationMs };
  const onClient = (check: (client: Client) => Promise<Finding>) => withClient(session, check);
  const fixFirst = 'fix the database first';
  const server = attempt('database', 'start PostgreSQL, or correct DATABASE_URL', async () => {
    if (await isPooledByTransaction(session)) {
      const [what = '', remedy = ''] = POOLED.split('; ');
      return fail('database', `DATABASE_URL ${what}`, remedy);
    }
    return onClient(async (client) => {
      const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
      const version = rows[0]?.server_version ?? 'unknown';
      if (Number.parseInt(version, 10) < OLDEST_POSTGRES) {
        return fail('database', `PostgreSQL ${version} is too old`, `use PostgreSQL ${OLDEST_POSTGRES} or newer`);
      }
      const [problem, remedy] = (await unfitness(client, { durable: true }))?.split('; ') ?? [];
      if (problem === undefined) return ok('database', `PostgreSQL ${version}`);
      const isOnlyLossy = config.mode === 'development' && (await unfitness(client, { durable: false })) === undefined;
      return (isOnlyLossy ? warn : fail)('database', problem, remedy ?? '');
    });
  });
  const clock = attempt('database clock', fixFirst, () => onClient((client) => checkClock(client)));
  const migrations = attempt('migrations', fixFirst, async () => {
    const { missing, edited, failed, unknown, applied, functions, lacksRights } = await migrationStatus(url);
    const migrate = 'run `countersign migrate`';
    const broken = [...edited, ...failed].join(', ');
    if (broken !== '') return fail('migrations', `damaged: ${broken}`, 'see `countersign migrate --status`');
    if (missing.length > 0) return fail('migrations', `missing: ${missing.join(', ')}`, migrate);
    if (lacksRights) return fail('migrations', 'roles and rights are missing, as after a restore', migrate);
    const newer = unknown.join(', ');
    if (newer !== '') return warn('migrations', `from a newer version: ${newer}`, 'update Countersign');
    if (functions.length > 0) return fail('migrations', `functions of another version: ${inBrief(functions)}`, migrate);
    return ok('migrations', `${applied.length} applied`);
  });
  const fence = attempt('restore', fixFirst, () => onClient(checkFence));
  return Promise.all([server, clock, migrations, fence]);
}

const MAY_ASK = `
  SELECT has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE') AS may_ask
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'gateway' AND p.proname = 'fence_state'`;

/** Whether the database or a worker has noticed that committed rows are lost. */
async function checkFence(database: Pick<Client, 'query'>): Promise<Finding> {
  const name = 'restore';
  const { rows } = await database.query<{ may_ask: boolean }>(MAY_ASK);
  const [fenceState] = rows;
  if (fenceState === undefined) return warn(name, 'not checked: migrations are missing', 'run `countersign migrate`');
  if (!fenceState.may_ask)
    return warn(name, 'not checked: this login has no right to', 'run it also with the login of gateway or worker');
  const fence = await database.query<{ state: FenceState }>('SELECT gateway.fence_state() AS state');
  const state = fence.rows[0]?.state ?? 'restored';
  if (state === 'whole') return ok(name, 'the database has not been restored since it was last reconciled');
  return fail(name, `${FINDINGS[state]}; nothing is executed`, AFTER_A_RESTORE);
}

/** Whether the clocks of database and machine agree. A worker claims nothing while they differ too much. */
export async function checkClock(
  database: Pick<Client, 'query'>,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<Finding> {
  const name = 'database clock';
  const aheadMs = await clockOffset(async () => {
    const { rows } = await database.query<{ at: Date }>('SELECT clock_timestamp() AS at');
    return rows[0]?.at.getTime();
  }, clock);
  if (aheadMs === undefined) return warn(name, 'the answer took too long for a comparison', 'run this again');
  const message = `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  const advice =
    'synchronize both clocks with a time server; a worker claims nothing while its clock differs by more than 30 s';
  if (Math.abs(aheadMs) > CLOCKS_TOO_FAR_APART_MS) return fail(name, message, advice);
  return Math.abs(aheadMs) > CLOCKS_APART_MS ? warn(name, message, advice) : ok(name, message);
}

/** Whether Temporal answers and has the namespace. */
export function checkTemporal(
  { temporal, ...config }: Pick<Config, 'temporal' | 'timeLimitFactor'>,
  address: string,
): Promise<Finding> {
  const { examinationMs } = limitsOf(config);
  return attempt('temporal', 'start Temporal, or correct TEMPORAL_ADDRESS', async () => {
    const connection = await Connection.connect({ address, tls: temporal.tls, connectTimeout: examinationMs });
    try {
      const missing = await connection.withDeadline(systemClock.now() + examinationMs, () =>
        missingNamespace(connection, { ...temporal, address }),
      );
      if (missing !== undefined) return fail('temporal', missing.what, missing.nextStep);
      return ok('temporal', `${address}, namespace ${temporal.namespace}`);
    } finally {
      await connection.close();
    }
  });
}

/** A worker asks anew about once a minute, and Temporal remembers for longer who asked. */
const POLLED_WITHIN_MS = 2 * 60_000;
const QUEUES = { workflows: 1, activities: 2 } as const;

/** Whether a worker has asked Temporal for work in the last minutes. Without one, approvals are accepted and nothing runs. */
export function checkWorkers(
  { temporal, ...config }: Pick<Config, 'temporal' | 'timeLimitFactor'>,
  address: string,
): Promise<Finding> {
  const name = 'workers';
  const { taskQueue, namespace } = temporal;
  return attempt(name, 'fix Temporal first', async () => {
    const engine = createTemporalClient({ ...temporal, address });
    const ask = boundedBy(engine.client, { clock: systemClock, limits: limitsOf(config) });
    const pollers = async (taskQueueType: number) => {
      const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType };
      const { pollers: found } = await ask(() => engine.client.workflowService.describeTaskQueue(request));
      const since = systemClock.now() - POLLED_WITHIN_MS;
      return (found ?? []).filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 > since).length;
    };
    try {
      const [workflows, activities] = await Promise.all([pollers(QUEUES.workflows), pollers(QUEUES.activities)]);
      if (workflows > 0 && activities > 0) return ok(name, `${workflows} at the task queue ${taskQueue}`);
      const advice = 'start a worker, or read its log; temporal.taskQueue has to be the same for all processes';
      return fail(name, `no worker asks Temporal for work (task queue ${taskQueue}), so no approved call runs`, advice);
    } finally {
      await engine.close();
    }
  });
}

/** Whether one of our own services is healthy. */
export async function checkHealth(
  name: string,
  url: string,
  config: Pick<Config, 'timeLimitFactor'>,
): Promise<Finding> {
  if (await isHealthy(url, limitsOf(config).stackProbeMs)) return ok(name, url);
  return fail(name, `no healthy service answers at ${url}`, 'start it, or read its log');
}

/** Whether the PDP proves its identity, may receive confidential data, and denies nonsense (PRJ-40). */
export async function checkPdp(config: Config, token: string | undefined): Promise<Finding[]> {
  const name = 'pdp';
  if (token === undefined) {
    return [warn(name, 'not checked: there is no PDP token', 'set COUNTERSIGN_PDP_TOKEN and run this again')];
  }
  const problems = await authorityOf(config, token).pdp();
  if (problems.length === 0) return [ok(name, `${config.authority.pdp.url}, with access requests`)];
  return problems.map(({ weight, what, nextStep }) => (weight === 'fatal' ? fail : warn)(name, what, nextStep));
}

/** Whether the access request service answers. Our own service must also be healthy. */
export function checkAccessRequests(config: Config): Promise<Finding> {
  const name = 'approvals';
  const { urls, authority } = config;
  if (authority.accessRequests.url?.startsWith(urls.approvals) === true)
    return checkHealth(name, urls.approvals, config);
  return attempt(name, 'start the access request service, or correct accessRequests.url', async () => {
    await authorityOf(config, '').accessRequests();
    return ok(name, `${authority.accessRequests.url ?? 'the service that the PDP names'} answers`);
  });
}

const authorityOf = (config: Config, pdpToken: string) =>
  examineAuthority(config, { pdpToken }, { clock: systemClock, log: pino({ level: 'silent' }) });
