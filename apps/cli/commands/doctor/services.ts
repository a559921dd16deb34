import { Connection } from '@temporalio/client';
import { Client } from 'pg';
import { pino } from 'pino';
import * as z from 'zod';
import { AFTER_A_RESTORE, type FenceState, FINDINGS } from '../../../../workflows/domain/gated-call/fence.ts';
import { examineAuthority } from '../../../gateway/main.ts';
import { metadataOf } from '../../../shared/auth/access-token.ts';
import {
  type Clock,
  clockOffset,
  CLOCKS_APART_MS,
  CLOCKS_TOO_FAR_APART_MS,
  systemClock,
} from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import { unfitness } from '../../../shared/database/pool.ts';
import { inBrief } from '../../../shared/database/functions.ts';
import { migrationStatus } from '../../../shared/database/migrate.ts';
import { type Limits, limitsOf } from '../../../shared/limits.ts';
import { missingNamespace } from '../../../shared/temporal/connection.ts';
import { isHealthy } from '../../stack.ts';
import { attempt, fail, type Finding, ok, warn } from './check.ts';

const OLDEST_POSTGRES = 15;

/** Whether the database answers, is new enough, is one to work on, has the time of this machine and all migrations. */
export function checkDatabase(url: string, config: Pick<Config, 'mode' | 'timeLimitFactor'>): Promise<Finding[]> {
  const { mode } = config;
  const look = (check: (client: Client) => Promise<Finding>) => onDatabase(url, limitsOf(config), check);
  const advice = 'start PostgreSQL, or mend DATABASE_URL';
  const server = attempt('database', advice, () =>
    look(async (client) => {
      const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
      const version = rows[0]?.server_version ?? 'unknown';
      if (Number.parseInt(version, 10) < OLDEST_POSTGRES) {
        return fail('database', `PostgreSQL ${version} is too old`, `use PostgreSQL ${OLDEST_POSTGRES} or newer`);
      }
      const [problem, remedy] = (await unfitness(client, { durable: true }))?.split('; ') ?? [];
      if (problem === undefined) return ok('database', `PostgreSQL ${version}`);
      const isOnlyLossy = mode === 'development' && (await unfitness(client, { durable: false })) === undefined;
      return (isOnlyLossy ? warn : fail)('database', problem, remedy ?? '');
    }),
  );
  const clock = attempt('database clock', 'mend the database first', () => look((client) => checkClock(client)));
  const migrations = attempt('migrations', 'mend the database first', async () => {
    const { missing, edited, failed, unknown, applied, functions, lacksRights } = await migrationStatus(url);
    const broken = [...edited, ...failed];
    if (broken.length > 0)
      return fail('migrations', `damaged: ${broken.join(', ')}`, 'see `countersign migrate --status`');
    if (missing.length > 0) return fail('migrations', `missing: ${missing.join(', ')}`, 'run `countersign migrate`');
    if (lacksRights)
      return fail('migrations', 'roles and rights are missing, as after a restore', 'run `countersign migrate`');
    if (unknown.length > 0)
      return warn('migrations', `made by a newer version: ${unknown.join(', ')}`, 'update Countersign');
    if (functions.length > 0)
      return fail('migrations', `functions of another version: ${inBrief(functions)}`, 'run `countersign migrate`');
    return ok('migrations', `${applied.length} applied`);
  });
  const fence = attempt('restore', 'mend the database first', () => look(checkFence));
  return Promise.all([server, clock, migrations, fence]);
}

async function onDatabase(url: string, limits: Limits, look: (client: Client) => Promise<Finding>): Promise<Finding> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: limits.examinationMs });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await look(client);
  } finally {
    await client.end();
  }
}

const MAY_ASK = `
  SELECT has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE') AS may_ask
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'gateway' AND p.proname = 'fence_state'`;

/** Whether the database still has all that was committed to it, as far as it or a worker has noticed. */
async function checkFence(database: Pick<Client, 'query'>): Promise<Finding> {
  const name = 'restore';
  const { rows } = await database.query<{ may_ask: boolean }>(MAY_ASK);
  const [fenceState] = rows;
  if (fenceState === undefined) return warn(name, 'not looked at: migrations are missing', 'run `countersign migrate`');
  if (!fenceState.may_ask)
    return warn(
      name,
      'not looked at: this login has no right to',
      'run it with the login of gateway or worker as well',
    );
  const fence = await database.query<{ state: FenceState }>('SELECT gateway.fence_state() AS state');
  const state = fence.rows[0]?.state ?? 'restored';
  if (state === 'whole') return ok(name, 'the database has not been restored since it was last reconciled');
  return fail(name, `${FINDINGS[state]}; nothing is executed`, AFTER_A_RESTORE);
}

/** Whether the database's clock and that of this machine agree. Workers claim nothing while theirs and it do not. */
export async function checkClock(
  database: Pick<Client, 'query'>,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<Finding> {
  const name = 'database clock';
  const aheadMs = await clockOffset(async () => {
    const { rows } = await database.query<{ at: Date }>('SELECT clock_timestamp() AS at');
    return rows[0]?.at.getTime();
  }, clock);
  if (aheadMs === undefined) return warn(name, 'the answer took too long to tell the time by it', 'run it again');
  const message = `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  const advice = 'set both clocks by a time server; a worker claims nothing while its clock is more than 30 s away';
  if (Math.abs(aheadMs) > CLOCKS_TOO_FAR_APART_MS) return fail(name, message, advice);
  return Math.abs(aheadMs) > CLOCKS_APART_MS ? warn(name, message, advice) : ok(name, message);
}

/** Whether Temporal answers and has the namespace. */
export function checkTemporal(
  { temporal, ...config }: Pick<Config, 'temporal' | 'timeLimitFactor'>,
  address: string,
): Promise<Finding> {
  const { examinationMs } = limitsOf(config);
  return attempt('temporal', 'start Temporal, or mend TEMPORAL_ADDRESS', async () => {
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

const issuerSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.string() });
const keysSchema = z.looseObject({ keys: z.array(z.looseObject({})) });

/** Whether the issuer describes itself and publishes keys. */
export function checkIssuer(config: Config): Promise<Finding> {
  const { urls } = config;
  const limits = limitsOf(config);
  const name = 'identity';
  return attempt(name, 'start the identity provider, or mend identity.issuer', async () => {
    const metadata = issuerSchema.parse(await getJson(metadataOf(urls.issuer), limits));
    if (metadata.issuer !== urls.issuer) {
      return fail(name, `the issuer calls itself ${metadata.issuer}`, `set identity.issuer to ${metadata.issuer}`);
    }
    const { keys } = keysSchema.parse(await getJson(metadata.jwks_uri, limits));
    if (keys.length > 0) return ok(name, `${urls.issuer}, ${keys.length} keys`);
    return fail(name, 'the issuer publishes no keys', 'tokens cannot be checked; look at the identity provider');
  });
}

/** Whether one of our own services says that it is alive. */
export async function checkHealth(
  name: string,
  url: string,
  config: Pick<Config, 'timeLimitFactor'>,
): Promise<Finding> {
  if (await isHealthy(url, config)) return ok(name, url);
  return fail(name, `nothing healthy answers at ${url}`, 'start it, or look at its log');
}

/** JSON of a document that has to be there. */
async function getJson(url: string, { examinationMs }: Limits): Promise<unknown> {
  const response = await fetch(url, { redirect: 'error', signal: systemClock.signalAfter(examinationMs) });
  if (!response.ok) throw new Error(`${url} answered with status ${response.status}`);
  return response.json();
}

/** Whether the PDP is who it says, can be trusted with what it is sent, and denies what makes no sense (PRJ-40). */
export async function checkPdp(config: Config, token: string | undefined): Promise<Finding[]> {
  const name = 'pdp';
  if (token === undefined) {
    return [warn(name, 'not asked: the PDP token is not known here', 'set COUNTERSIGN_PDP_TOKEN and run it again')];
  }
  const problems = await authorityOf(config, token).pdp();
  if (problems.length === 0) return [ok(name, `${config.authority.pdp.url}, with access requests`)];
  return problems.map(({ weight, what, nextStep }) => (weight === 'fatal' ? fail : warn)(name, what, nextStep));
}

/** Whether the access request service is there: our own by its word, somebody else's by answering at all. */
export function checkAccessRequests(config: Config): Promise<Finding> {
  const name = 'approvals';
  const { urls, authority } = config;
  if (authority.accessRequests.url?.startsWith(urls.approvals) === true)
    return checkHealth(name, urls.approvals, config);
  return attempt(name, 'start the access request service, or mend accessRequests.url', async () => {
    await authorityOf(config, '').accessRequests();
    return ok(name, `${authority.accessRequests.url ?? 'the service that the PDP names'} answers`);
  });
}

const authorityOf = (config: Config, pdpToken: string) =>
  examineAuthority(config, { pdpToken }, { clock: systemClock, log: pino({ level: 'silent' }) });
