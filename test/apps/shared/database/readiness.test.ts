import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { pino } from 'pino';
import { startAudit } from '../../../../apps/audit/main.ts';
import { checkDatabase } from '../../../../apps/cli/commands/doctor/services.ts';
import { parseConfig } from '../../../../apps/shared/config/config.ts';
import { migrate, migrationStatus } from '../../../../apps/shared/database/migrate.ts';
import { createPool, refuseUnfitDatabase, ROLES } from '../../../../apps/shared/database/pool.ts';
import { databaseProblem } from '../../../../apps/shared/database/readiness.ts';
import { freePort } from '../../../../apps/shared/embedded/process-tools.ts';
import { SEALING_SECRETS } from '../../../support/gated-calls.ts';
import { asUnavailable } from '../../../../workflows/domain/errors.ts';
import { OwnPostgres } from '../../../support/own-postgres.ts';
import { patiently } from '../../../support/wait-for.ts';
import { startFakePooler } from '../../../support/fake-pooler.ts';
import { IN_DEVELOPMENT, ORDINARY_LIMITS, PATIENT_FACTOR, PATIENT_LIMITS, systemTime } from '../../../support/time.ts';

const DEPLOYABLES = Object.keys(ROLES) as (keyof typeof ROLES)[];

const postgres = new OwnPostgres();
let server: string;
beforeAll(async () => {
  server = await postgres.startAsItIs();
});
afterAll(() => postgres.stop());

const addressOf = (database: string, login?: string) => {
  const url = new URL(server);
  url.pathname = `/${database}`;
  if (login !== undefined) [url.username, url.password] = [login, login];
  return url.href;
};

async function run(database: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: addressOf(database) });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** The reason for each deployable not to start with this login. */
const problems = (url: string) =>
  Promise.all(
    DEPLOYABLES.map((name) =>
      refuseUnfitDatabase(url, { ...systemTime, durable: false, role: ROLES[name] }).then(
        () => 'none',
        (error: Error) => error.message,
      ),
    ),
  );
const everywhere = (words: RegExp) => DEPLOYABLES.map(() => expect.stringMatching(words));
/** The result of a migration without work. */
const NOTHING = { applied: [], unknown: [], functions: [], renewedRights: false };
const NONE = DEPLOYABLES.map(() => 'none');

describe('an owner without the rights of a superuser', () => {
  it('that may not create roles learns what an administrator has to run, and continues after it', async () => {
    await run('postgres', `CREATE ROLE plain LOGIN PASSWORD 'plain'`, 'CREATE DATABASE plain OWNER plain');
    const wanted = /the login plain may not create roles.*CREATE ROLE countersign_pdp NOLOGIN;.*Then migrate again/;
    await expect(migrate(addressOf('plain', 'plain'), ORDINARY_LIMITS)).rejects.toThrow(wanted);
    const roles = [...new Set(Object.values(ROLES))];
    await run('postgres', ...roles.map((role) => `CREATE ROLE ${role} NOLOGIN`));
    await migrate(addressOf('plain', 'plain'), ORDINARY_LIMITS);
    // The owner is not a member of the roles. A separate login for each deployable is.
    expect(await problems(addressOf('plain', 'plain'))).toEqual(everywhere(/grant the login the role/));
    await run('postgres', `CREATE ROLE member LOGIN PASSWORD 'member' IN ROLE ${roles.join(', ')}`);
    expect(await problems(addressOf('plain', 'member'))).toEqual(NONE);
    await run('postgres', 'DROP DATABASE plain', 'DROP ROLE member', ...roles.map((role) => `DROP ROLE ${role}`));
  });

  it('that may create roles, as at managed servers, migrates and serves every deployable', async () => {
    await run('postgres', `CREATE ROLE cloud LOGIN CREATEROLE PASSWORD 'cloud'`, 'CREATE DATABASE cloud OWNER cloud');
    await migrate(addressOf('cloud', 'cloud'), ORDINARY_LIMITS);
    expect(await problems(addressOf('cloud', 'cloud'))).toEqual(NONE);
  });
});

/** Has each new transaction of the database refuse changes, also in sessions that are open; or accept them again. */
const freeze = (database: string, mode: 'on' | 'off') =>
  run('postgres', `ALTER SYSTEM SET default_transaction_read_only = ${mode}`, 'SELECT pg_reload_conf()').then(() =>
    patiently(async () => ((await readOnlyOf(database)) === mode ? true : undefined)),
  );

async function readOnlyOf(database: string): Promise<string | undefined> {
  const client = new Client({ connectionString: addressOf(database) });
  await client.connect();
  try {
    const { rows } = await client.query<{ setting: string }>(
      `SELECT current_setting('transaction_read_only') AS setting`,
    );
    return rows[0]?.setting;
  } finally {
    await client.end();
  }
}

describe('a pooler that lends sessions by transaction', () => {
  it.each([
    ['lends one session to all', false],
    ['refuses the settings of a process', true],
  ])(
    'keeps every deployable from starting, and is named by migration and doctor: one that %s',
    async (_how, refuses) => {
      const pooler = await startFakePooler({ refuses });
      const words = /leads to a connection pooler .*; connect to PostgreSQL itself/;
      try {
        expect(await problems(pooler.url)).toEqual(everywhere(words));
        if (refuses) return;
        await expect(migrate(pooler.url, ORDINARY_LIMITS)).rejects.toThrow(words);
        const [found] = await checkDatabase(pooler.url, IN_DEVELOPMENT);
        expect(found).toMatchObject({
          status: 'fail',
          advice: expect.stringContaining('connect to PostgreSQL itself'),
        });
      } finally {
        await pooler.stop();
      }
    },
  );
});

describe('a database that is not ready', () => {
  beforeAll(() => run('postgres', 'CREATE DATABASE fit', 'CREATE DATABASE empty'));
  beforeAll(async () => {
    await migrate(addressOf('fit'), ORDINARY_LIMITS);
  });

  it.each([
    ['is empty', () => addressOf('empty'), /no tables of Countersign; run `countersign migrate`/],
    ['is not there', () => addressOf('nowhere'), /the database does not exist; create it/],
    [
      'refuses the password',
      () => addressOf('fit', 'cloud').replace('cloud:cloud', 'cloud:wrong'),
      /refuses the password/,
    ],
  ])('keeps every deployable from starting when it %s', async (_how, url, words) => {
    expect(await problems(url())).toEqual(everywhere(words));
  });

  it('keeps every deployable from starting while it accepts no changes, as an earlier primary after a failover', async () => {
    await freeze('fit', 'on');
    try {
      expect(await problems(addressOf('fit'))).toEqual(everywhere(/it is read-only; connect to the primary/));
      const [found] = await checkDatabase(addressOf('fit'), IN_DEVELOPMENT);
      expect(found).toMatchObject({ status: 'fail', message: 'it is read-only' });
    } finally {
      await freeze('fit', 'off');
    }
    expect(await problems(addressOf('fit'))).toEqual(NONE);
  });

  it('ends the connections of a process that was connected before, which says why it cannot work', async () => {
    const pool = createPool(addressOf('fit'), { applicationName: 'a process', limits: PATIENT_LIMITS });
    const reader = createPool(addressOf('fit'), {
      applicationName: 'a reader',
      onlyReads: true,
      limits: PATIENT_LIMITS,
    });
    const record = () => pool.query('CREATE TABLE recorded (id int)').catch(asUnavailable);
    try {
      expect(await databaseProblem(pool)).toBeUndefined();
      await freeze('fit', 'on');
      expect(await record()).toMatchObject({
        message: expect.stringMatching(/accepts no changes \(it is read-only\)/),
      });
      expect(pool.totalCount).toBe(0);
      expect(await databaseProblem(pool)).toMatch(/read-only; connect to the primary/);
      expect(await databaseProblem(reader, { onlyReads: true })).toBeUndefined();
      await freeze('fit', 'off');
      expect(await databaseProblem(pool)).toBeUndefined();
    } finally {
      await freeze('fit', 'off');
      await Promise.all([pool.end(), reader.end()]);
    }
  });

  it('keeps every deployable from starting when it is older or newer', async () => {
    const table = '"_prisma_migrations"';
    await run(
      'fit',
      `CREATE TABLE kept AS SELECT * FROM ${table}`,
      `DELETE FROM ${table} WHERE migration_name LIKE '%_fence'`,
    );
    expect(await problems(addressOf('fit'))).toEqual(everywhere(/older version: 1 migrations are missing; run/));
    await run('fit', `DELETE FROM ${table}`, `INSERT INTO ${table} SELECT * FROM kept`);
    await run(
      'fit',
      `UPDATE kept SET id = 'new', migration_name = '29990101000000_new' WHERE migration_name LIKE '%_fence'`,
    );
    await run('fit', `INSERT INTO ${table} SELECT * FROM kept WHERE id = 'new'`);
    expect(await problems(addressOf('fit'))).toEqual(everywhere(/newer version \(29990101000000_new\); update/));
    await run('fit', `DELETE FROM ${table} WHERE id = 'new'`, 'DROP TABLE kept');
    expect(await problems(addressOf('fit'))).toEqual(NONE);
  });

  it('keeps every deployable from starting when its functions are of another version', async () => {
    await run('fit', `UPDATE "_countersign_functions" SET checksum = 'x' WHERE name = 'gateway/claim_execution'`);
    const words =
      /functions of the database are of another version \(gateway\/claim_execution\); run `countersign migrate`/;
    expect(await problems(addressOf('fit'))).toEqual(everywhere(words));
    const finding = (await checkDatabase(addressOf('fit'), IN_DEVELOPMENT)).find(({ name }) => name === 'migrations');
    expect(finding).toMatchObject({ status: 'fail', message: expect.stringContaining('gateway/claim_execution') });
    await run('fit', 'DROP FUNCTION approvals.cast_vote');
    expect(await problems(addressOf('fit'))).toEqual(everywhere(/\(approvals\/cast_vote and 1 more\)/));
    const functions = ['approvals/cast_vote', 'gateway/claim_execution'];
    expect(await migrate(addressOf('fit'), ORDINARY_LIMITS)).toEqual({ ...NOTHING, functions });
    expect(await problems(addressOf('fit'))).toEqual(NONE);
  });

  it('is reported and repaired when its roles are missing, as after a restore into another server', async () => {
    const roles = [...new Set(Object.values(ROLES))];
    await run('cloud', ...roles.map((role) => `DROP OWNED BY ${role}`));
    await run('fit', ...roles.flatMap((role) => [`DROP OWNED BY ${role}`, `DROP ROLE ${role}`]));
    expect(await problems(addressOf('fit'))).toEqual(
      everywhere(/role of this process is missing.*countersign migrate/),
    );
    expect(await migrationStatus(addressOf('fit'))).toMatchObject({ missing: [], lacksRights: true });
    const migrations = (await checkDatabase(addressOf('fit'), IN_DEVELOPMENT)).find(
      ({ name }) => name === 'migrations',
    );
    expect(migrations).toMatchObject({ status: 'fail', advice: 'run `countersign migrate`' });
    expect(await migrate(addressOf('fit'), ORDINARY_LIMITS)).toEqual({ ...NOTHING, renewedRights: true });
    expect(await problems(addressOf('fit'))).toEqual(NONE);
    expect(await migrate(addressOf('fit'), ORDINARY_LIMITS)).toEqual(NOTHING);
  });
});

it('a process reports on /readyz and /healthz why it cannot work, and on /livez that it runs', async () => {
  await run('postgres', 'CREATE DATABASE served');
  const raw = { timeLimitFactor: PATIENT_FACTOR, audit: { port: await freePort() } };
  const config = parseConfig(raw, { baseDir: '/', stateDir: '/' });
  const secrets = { sessionSecret: 'a-secret-of-some-length', oidcClientSecret: 'another-secret', ...SEALING_SECRETS };
  const log = pino({ level: 'silent' });
  const audit = await startAudit(config, secrets, { ...systemTime, log, databaseUrl: addressOf('served') });
  const probe = async (path: string) => {
    const response = await fetch(`${config.urls.audit}${path}`);
    return [response.status, await response.json()];
  };
  const unavailable = (words: RegExp) => [503, { status: 'unavailable', problems: [expect.stringMatching(words)] }];
  const isReady = async () => ((await probe('/readyz'))[0] === 200 ? true : undefined);
  try {
    expect(await probe('/livez')).toEqual([200, { status: 'ok' }]);
    for (const path of ['/readyz', '/healthz']) expect(await probe(path)).toEqual(unavailable(/no tables.*migrate/));
    await migrate(addressOf('served'), ORDINARY_LIMITS);
    await patiently(isReady);
    await postgres.crash();
    await patiently(async () => ((await probe('/healthz'))[0] === 503 ? true : undefined));
    expect(await probe('/livez')).toEqual([200, { status: 'ok' }]);
    await patiently(() => postgres.startAsItIs());
    await patiently(isReady);
  } finally {
    await audit.stop();
  }
});
