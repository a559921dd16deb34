import type { Logger } from 'pino';
import { createRecordSeals } from '../../activities/stores/seals.ts';
import { createSignIn } from '../shared/auth/sign-in.ts';
import { createPeopleVerifier } from '../shared/auth/access-token.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseProblems } from '../shared/database/readiness.ts';
import { runDeployable } from '../shared/deployable.ts';
import { openDirectory } from '../shared/directory/directory.ts';
import { openTo } from '../shared/http/address-limit.ts';
import { listen } from '../shared/http/listen.ts';
import { isEntryScript, type Running } from '../shared/lifecycle.ts';
import { limitsOf, type Timing } from '../shared/limits.ts';
import { auditorsOnly } from './authenticate.ts';
import { auditAssets, createAuditApp } from './http.ts';
import { createOutcomeRecords, createReadOnlyPool } from './stores/outcome-record.store.ts';

const SESSION_POOL = { max: 4, applicationName: 'countersign audit sessions', role: ROLES.audit } as const;
const RIGHTS_POOL = { ...SESSION_POOL, applicationName: 'countersign audit rights' } as const;
const COOKIE = 'countersign_audit';
const AUDIT_SECRETS = ['sessionSecret', 'oidcClientSecret', 'recordSealingKeys', 'digestKey'] as const;

export interface AuditDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly databaseUrl: string;
}

/**
 * Starts the auditors' pages and API. Connections that cannot write read the records; the application writes only sessions,
 * into their own schema. Rejects with the listen error when the port is taken.
 */
export async function startAudit(
  config: Config,
  secrets: Pick<Secrets, (typeof AUDIT_SECRETS)[number]>,
  { clock, log, databaseUrl }: AuditDeps,
): Promise<Running> {
  const time: Timing = { clock, limits: limitsOf(config) };
  const { limits } = time;
  const url = config.urls.audit;
  const seals = createRecordSeals(secrets);
  const people = openDirectory(config.directory, { log, clock });
  const records = createReadOnlyPool(databaseUrl, limits);
  const pools = {
    sessions: createPool(databaseUrl, { ...SESSION_POOL, limits }),
    rights: createPool(databaseUrl, { ...RIGHTS_POOL, limits }),
  };
  const site = { name: 'audit', cookieName: COOKIE } as const;
  const signIn = createSignIn({ config, site, secrets, pools, log, ...time });
  const release = async () => {
    signIn.close();
    await Promise.all([records.end(), pools.sessions.end(), pools.rights.end()]);
  };
  const verifyAccessToken = createPeopleVerifier(config, url, { log, ...time });
  const app = createAuditApp({
    records: createOutcomeRecords(records, seals),
    seals,
    signIn: signIn.handlers,
    auditorsOnly: auditorsOnly({
      personOf: signIn.personOf,
      verifyAccessToken,
      people,
      scopes: config.audit.scopes,
      url,
    }),
    assets: auditAssets(),
    url,
    problems: () => databaseProblems(records),
    log,
    ...time,
  });
  try {
    const server = await listen(app, openTo(config, { port: config.audit.port, urls: [url] }, { log, ...time }));
    log.info({ url }, 'the audit application is listening');
    return { name: 'audit', stop: () => server.close().finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('audit', AUDIT_SECRETS, systemClock, ({ config, secrets, ...deps }) =>
    startAudit(config, secrets, deps),
  );
}
