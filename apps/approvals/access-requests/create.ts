import type { Router } from 'express';
import { createRemoteJWKSet, type JWK } from 'jose';
import type { Logger } from 'pino';
import type { Config } from '../../shared/config/config.ts';
import { createServiceToken, createSigner, publicKey, type SignClaims } from '../../shared/auth/signing-key.ts';
import type { Timing } from '../../shared/limits.ts';
import { createRateLimit } from '../../shared/http/address-limit.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import { createSealedPages } from '../../shared/http/page-token.ts';
import { catalogEndpoint, createCatalogs } from '../catalogs/catalogs.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import { createApprovalState, createRevocationList } from './approval-state.ts';
import type { CoveringGrants } from '../grants/covering-grants.ts';
import type { TermsOf } from '../templates.ts';
import type { AccessRequestClient } from './clients.ts';
import type { DenialTrust } from './denial-token.ts';
import { createRecordedDenials } from './denial-binding.ts';
import { accessRequestRouter } from './router.ts';
import { createSubmit, type SubmitOptions } from './submit.ts';

/** Room beside the largest arguments that the gateway accepts: the binding token copies parts of them. */
const ENVELOPE_BYTES = 512 * 1024;
/** The cache lifetime that the PDP gives for its keys. */
const KEYS_KEPT_MS = 300_000;

interface Parts extends Timing {
  readonly store: AccessRequestStore;
  readonly clients: readonly AccessRequestClient[];
  readonly termsOf: TermsOf;
  readonly coveringGrants: CoveringGrants;
  readonly refuseOutOfReach: SubmitOptions['refuseOutOfReach'];
  readonly people: DirectorySource;
  readonly log: Logger;
}

/** The configured access request service over HTTP. Throws `ERR_CONFIG_INVALID` for an unusable signing key or catalog file. */
export async function createAccessRequests(
  config: Config,
  key: JWK,
  { store, clients, termsOf, coveringGrants, refuseOutOfReach, people, log, clock, limits }: Parts,
): Promise<Router> {
  const { urls, approvals, gateway } = config;
  const sign = await createSigner(key);
  const issuer = urls.accessRequests;
  const maxBodyBytes = gateway.maxBodyBytes + ENVELOPE_BYTES;
  const trust = denialTrust(config, sign, { clock, limits });
  const catalogs =
    Object.keys(approvals.catalogs).length === 0
      ? undefined
      : createCatalogs(approvals.catalogs, {
          ...{ people, clock, log },
          pages: createSealedPages(key.d ?? '', 'countersign catalog page'),
        });
  return accessRequestRouter({
    store,
    submit: createSubmit({
      store,
      trust,
      termsOf,
      catalogs,
      coveringGrants,
      refuseOutOfReach,
      keepMs: approvals.retentionSeconds * 1_000,
    }),
    catalog: catalogs && catalogEndpoint({ catalogs, trust }),
    approvalState: createApprovalState({ sign, issuer, audience: urls.pdp, store }),
    revocations: createRevocationList({ sign, issuer, store, clock }),
    keys: { keys: [key, ...approvals.publishedKeys].map(publicKey) },
    urls,
    clients,
    rate: createRateLimit({ count: approvals.maxRequestsPerSecond, seconds: 1 }),
    maxBodyBytes,
    bundles: approvals.bulk && { ...approvals.bulk, maxShared: maxBodyBytes },
    log,
  });
}

/** Trusts denials of the configured PDP only. An unknown key makes the service fetch the PDP's keys again, at most twice a minute. */
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
