import { createRecordSeals } from '../../activities/stores/seals.ts';
import { createSignIn } from '../shared/auth/sign-in.ts';
import { createPeopleVerifier } from '../shared/auth/access-token.ts';
import { systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseNeed } from '../shared/database/readiness.ts';
import { type Deps, runDeployable } from '../shared/deployable.ts';
import { openDirectory } from '../shared/directory/directory.ts';
import { openTo } from '../shared/http/address-limit.ts';
import { listen } from '../shared/http/listen.ts';
import { isEntryScript, type Running } from '../shared/lifecycle.ts';
import { limitsOf } from '../shared/limits.ts';
import { startWatchingNeeds } from '../shared/needs.ts';
import { auditorsOnly } from './authenticate.ts';
import { createAuditApp } from './http.ts';
import { createOutcomeRecords, createReadOnlyPool } from './stores/outcome-record.store.ts';

const SESSION_POOL = { max: 4, applicationName: 'countersign audit sessions', role: ROLES.audit };
const AUDIT_SECRETS = ['sessionSecret', 'oidcClientSecret', 'recordSealingKeys', 'digestKey'] as const;

/**
 * Starts the auditors' pages and API. Connections that cannot write read the records; the application writes only sessions,
 * into their own schema. Rejects with the listen error when the port is taken.
 */
export async function startAudit(
  config: Config,
  secrets: Pick<Secrets, (typeof AUDIT_SECRETS)[number]>,
  { clock, log, databaseUrl }: Deps,
): Promise<Running> {
  const limits = limitsOf(config);
  const own = { clock, limits, log };
  const url = config.urls.audit;
  const seals = createRecordSeals(secrets);
  const people = openDirectory(config.directory, own);
  const records = createReadOnlyPool(databaseUrl, limits);
  const pool = createPool(databaseUrl, { ...SESSION_POOL, limits });
  const signIn = createSignIn({ config, site: 'audit', secrets, pool, databaseUrl, ...own });
  const needs = [databaseNeed(records, { onlyReads: true })];
  const watch = startWatchingNeeds({ needs, ...own });
  const release = async () => {
    await watch.stop();
    await signIn.close();
    await Promise.all([records.end(), pool.end()]);
  };
  const verifyAccessToken = createPeopleVerifier(config, url, own);
  const doors = { personOf: signIn.personOf, verifyAccessToken, people, url };
  const app = createAuditApp({
    records: createOutcomeRecords(records, seals),
    seals,
    signIn: signIn.handlers,
    auditorsOnly: auditorsOnly({ ...doors, scopes: config.audit.scopes }),
    url,
    needs,
    ...own,
  });
  try {
    const server = await listen(app, openTo(config, { port: config.audit.port, urls: [url] }, own));
    log.info({ url }, 'the audit application is listening');
    const stop = async () => {
      try {
        await server.close();
      } finally {
        await release();
      }
    };
    return { name: 'audit', stop };
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
