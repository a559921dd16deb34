import type { Router } from 'express';
import { createRemoteJWKSet, type JWK } from 'jose';
import type { Logger } from 'pino';
import type { Config } from '../../shared/config/config.ts';
import { createServiceToken, createSigner, publicKey, type SignClaims } from '../../shared/auth/signing-key.ts';
import type { Timing } from '../../shared/limits.ts';
import { createRateLimit } from '../../shared/http/address-limit.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import { createSealedPages } from '../../shared/http/page-token.ts';
import { catalogEndpoint, type Catalogs, createCatalogs } from '../catalogs/catalogs.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import { createApprovalState, createRevocationList } from './approval-state.ts';
import type { TermsOf } from '../templates.ts';
import type { AccessRequestClient } from './clients.ts';
import type { DenialTrust } from './denial-token.ts';
import { createRecordedDenials } from './denial-binding.ts';
import { accessRequestRouter } from './router.ts';
import { createSubmit } from './submit.ts';

/** Room for the rest of a submission beside the largest arguments that the gateway accepts: the token copies some. */
const ENVELOPE_BYTES = 512 * 1024;
/** As long as the PDP says that its keys may be kept. */
const KEYS_KEPT_MS = 300_000;

interface Parts extends Timing {
  readonly store: AccessRequestStore;
  readonly clients: readonly AccessRequestClient[];
  readonly termsOf: TermsOf;
  readonly people: DirectorySource;
  readonly log: Logger;
}

/** The access request service over HTTP, as it is configured. Throws `ERR_CONFIG_INVALID` when the signing key is none. */
export async function createAccessRequests(
  config: Config,
  key: JWK,
  { store, clients, termsOf, people, log, ...time }: Parts,
): Promise<Router> {
  const { urls, approvals, gateway } = config;
  const sign = await createSigner(key);
  const issuer = urls.accessRequests;
  const maxBodyBytes = gateway.maxBodyBytes + ENVELOPE_BYTES;
  const trust = denialTrust(config, sign, time);
  const catalogs = configuredCatalogs(config, key, { people, clock: time.clock, log });
  return accessRequestRouter({
    store,
    submit: createSubmit({
      store,
      trust,
      termsOf,
      catalogs,
      keepMs: approvals.retentionSeconds * 1_000,
    }),
    catalog: catalogs && catalogEndpoint({ catalogs, trust }),
    approvalState: createApprovalState({ sign, issuer, audience: urls.pdp, store }),
    revocations: createRevocationList({ sign, issuer, store, clock: time.clock }),
    keys: { keys: [key, ...approvals.publishedKeys].map(publicKey) },
    urls,
    clients,
    rate: createRateLimit({ count: approvals.maxRequestsPerSecond, seconds: 1 }),
    maxBodyBytes,
    bundles: approvals.bulk && { ...approvals.bulk, maxShared: maxBodyBytes },
    log,
  });
}

/** Undefined where the configuration has none. Throws `ERR_CONFIG_INVALID` for a file that cannot be used. */
function configuredCatalogs(
  { approvals: { catalogs } }: Config,
  key: JWK,
  own: Pick<Parts, 'people' | 'clock' | 'log'>,
): Catalogs | undefined {
  if (Object.keys(catalogs).length === 0) return undefined;
  return createCatalogs(catalogs, { ...own, pages: createSealedPages(key.d ?? '', 'countersign catalog page') });
}

/** Denials of the configured PDP count, and no others. For a key that is unknown its keys are read anew, at most twice a minute. */
function denialTrust({ urls, keyUrls }: Config, sign: SignClaims, time: Timing): DenialTrust {
  const { clock, limits } = time;
  const keys = createRemoteJWKSet(new URL(keyUrls.pdp), {
    timeoutDuration: limits.pdpKeysMs,
    cacheMaxAge: KEYS_KEPT_MS,
  });
  const serviceToken = createServiceToken(sign, { issuer: urls.accessRequests, audience: urls.pdp, clock });
  return {
    issuers: new Map([[urls.pdp, keys]]),
    audience: urls.accessRequests,
    recorded: createRecordedDenials({ pdp: urls.pdp, serviceToken, ...time }),
    now: () => clock.now(),
  };
}
