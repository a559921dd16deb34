import { type Logger, pino } from 'pino';
import { createAccessRequestClient } from '../../activities/clients/access-requests/client.ts';
import { createCredential, trustedOrigins, trustOf } from '../../activities/clients/http.ts';
import { createPdpMetadata, type PdpMetadataOptions } from '../../activities/clients/pdp/metadata.ts';
import { createPolicyDecisionPoint } from '../../activities/clients/pdp/client.ts';
import { ORDINARY_LIMITS, systemTime } from './time.ts';

export const TOKEN = 'token-of-the-gateway';
const credential = createCredential(TOKEN, { credentialHeader: 'authorization' });

/** A client of an access request service that trusts addresses on its origin. */
export const anAccessRequestClient = (url: string) =>
  createAccessRequestClient({ ...systemTime, credential, isTrusted: trustedOrigins([url]) });

export interface PdpClientOptions extends Partial<Pick<PdpMetadataOptions, 'metadata' | 'signedMetadata'>> {
  readonly accessRequestsUrl?: string;
  /** Addresses on further origins that it trusts. */
  readonly trusted?: readonly string[];
  readonly log?: Logger;
  readonly timeoutMs?: number;
}

/** The gateway and the worker make a client of the PDP with this identifier from this data. */
export function pdpClientOptions(pdpUrl: string, options: PdpClientOptions = {}) {
  const {
    accessRequestsUrl,
    trusted = [],
    metadata = 'used',
    signedMetadata,
    log = pino({ level: 'silent' }),
  } = options;
  const trust = trustOf({ pdp: [pdpUrl, ...trusted], accessRequests: [accessRequestsUrl ?? pdpUrl, ...trusted] });
  const describe = createPdpMetadata({
    ...systemTime,
    pdpUrl,
    metadata,
    signedMetadata,
    isTrusted: trust.pdp,
    via: undefined,
  });
  const { timeoutMs = ORDINARY_LIMITS.pdpAnswerMs } = options;
  return {
    ...{ describe, credential, accessRequestsUrl, trust, log },
    timeoutMs,
  };
}

/** A client of the PDP, with its knowledge of the PDP. */
export function aPdpClient(pdpUrl: string, options: PdpClientOptions = {}) {
  const made = pdpClientOptions(pdpUrl, options);
  const { describe, trust } = made;
  return { ...createPolicyDecisionPoint({ ...made, ...systemTime }), describe, trust };
}
