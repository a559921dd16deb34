import type { Logger } from 'pino';
import type { Timing } from '../../apps/shared/limits.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import { createAccessRequestClient } from './access-requests/client.ts';
import { createCredential, type CredentialSettings, sendHttp, trustOf } from './http.ts';
import { checkPolicyDecisionPoint } from './pdp/check.ts';
import { createPdpMetadata, type PdpMetadataOptions } from './pdp/metadata.ts';
import { createPolicyDecisionPoint } from './pdp/client.ts';
import { createRequestCatalogs } from './access-requests/forms.ts';
import { createObligingPdp, type ObligingPdpOptions } from '../obligations/oblige.ts';
import type { Clock } from '../../apps/shared/clock.ts';

/** How the authority side is reached, ours or another. */
export interface AuthoritySettings {
  readonly pdp: Pick<PdpMetadataOptions, 'metadata' | 'signedMetadata'> & {
    /** Identifier of the PDP. */
    readonly url: string;
    readonly credential: CredentialSettings;
    /** Addresses on the origins that may be sent questions with this credential. */
    readonly trusted: readonly string[];
  };
  readonly accessRequests: {
    /** Submission URL; undefined when the PDP's metadata names it. */
    readonly url: string | undefined;
    readonly credential: CredentialSettings;
    /** Addresses on the origins that may be sent access requests with this credential. */
    readonly trusted: readonly string[];
  };
}

/** The clients of PDP and access request service. They connect when they are used. Throws `ERR_CONFIG_INVALID` for an unreadable certificate. */
export function connectAuthority(
  settings: AuthoritySettings,
  secrets: { readonly pdpToken: string; readonly accessRequestToken: string },
  obliging: Pick<ObligingPdpOptions, 'pool' | 'seals' | 'obligations' | 'log'> & Timing,
) {
  const reached = reach(settings, secrets.pdpToken, obliging);
  const { trust, log, clock, limits } = reached.options;
  const credential = createCredential(secrets.accessRequestToken, settings.accessRequests.credential);
  const { pdp, ...delivery } = createObligingPdp({ ...reached.options, ...obliging });
  return {
    ...delivery,
    ...withMemory(pdp, reached.examine.check),
    accessRequests: createAccessRequestClient({ credential, isTrusted: trust.accessRequests, clock, limits }),
    requestCatalogs: createRequestCatalogs({ credential, isTrusted: trust.accessRequests, log, clock, limits }),
    ...reached.examine,
  };
}

/** Only examines both. Needs no database, and carries no obligation out. */
export const examineAuthority = (
  settings: AuthoritySettings,
  pdpToken: string,
  own: Timing & { readonly log: Logger },
) => reach(settings, pdpToken, own).examine;

function reach(
  settings: AuthoritySettings,
  pdpToken: string,
  { log, clock, limits }: Timing & { readonly log: Logger },
) {
  const trust = trustOf({ pdp: settings.pdp.trusted, accessRequests: settings.accessRequests.trusted });
  const { url: accessRequestsUrl } = settings.accessRequests;
  const credential = createCredential(pdpToken, settings.pdp.credential);
  const { url: pdpUrl, metadata, signedMetadata } = settings.pdp;
  const known = { metadata, signedMetadata, isTrusted: trust.pdp, via: credential.via };
  const describe = createPdpMetadata({ pdpUrl, ...known, clock, limits });
  const timeoutMs = limits.pdpAnswerMs;
  const options = { describe, credential, accessRequestsUrl, trust, log, clock, limits, timeoutMs };
  // The caller of an examination gets the findings; the log is for calls.
  const pdp = createPolicyDecisionPoint({ ...options, log: log.child({}, { level: 'silent' }) });
  return {
    options,
    examine: {
      /** The clock of the access request service, in milliseconds since 1970; undefined when it tells no time. Rejects when it does not answer. */
      accessRequestsClock: async (): Promise<number | undefined> => {
        const url = accessRequestsUrl ?? (await describe()).accessRequests;
        if (url !== undefined && trust.accessRequests(url)) return readServiceClock(new URL(url).origin, clock);
        throw new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'no access request service is known');
      },
      /** The problems of the configured PDP. Throws `ERR_PDP_UNAVAILABLE` when it does not answer. */
      check: () =>
        checkPolicyDecisionPoint({ pdp, pdpUrl, describe, accessRequestsUrl, isTrusted: trust.accessRequests, limits }),
    },
  };
}

/**
 * Remembers whether the PDP gave its last decision. `pdpProblem` answers why it gives none; a decision point that works is asked nothing
 * further for that. `check` rejects while it gives no decision.
 */
function withMemory(pdp: PolicyDecisionPoint, check: () => Promise<unknown>) {
  let hasFailed = false;
  const noted = async <T>(decided: Promise<T>): Promise<T> => {
    try {
      const decision = await decided;
      hasFailed = false;
      return decision;
    } catch (error) {
      hasFailed ||= error instanceof CountersignError && error.code === 'ERR_PDP_UNAVAILABLE';
      throw error;
    }
  };
  const watched: PolicyDecisionPoint = {
    evaluate: (...asked) => noted(pdp.evaluate(...asked)),
    evaluateAll: (...asked) => noted(pdp.evaluateAll(...asked)),
  };
  const pdpProblem = async (): Promise<string | undefined> => {
    if (!hasFailed) return undefined;
    try {
      await check();
      hasFailed = false;
      return undefined;
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      return `${cause}; no call is allowed, and approved calls wait; read its log, or correct pdp.url`;
    }
  };
  return { pdp: watched, pdpProblem };
}

/** A slower answer is too inexact: half its duration bounds the error. */
const TIMEOUT_MS = 1_000;
/** A `Date` header has whole seconds, so on average the clock behind it is half a second further. */
const HALF_A_SECOND = 500;

/**
 * The clock of an HTTP service to half a second, in milliseconds since 1970, from the `Date` header of any answer;
 * `undefined` when there is none. No credential goes along. Rejects when there is no answer within a second.
 * @see RFC 9110, section 6.6.1
 */
export async function readServiceClock(serviceUrl: string, clock: Clock): Promise<number | undefined> {
  const init = { method: 'GET', headers: {}, timeoutMs: TIMEOUT_MS, clock } as const;
  const answer = await sendHttp(`${serviceUrl}/healthz`, init);
  const at = Date.parse(answer.header('date') ?? '');
  return Number.isNaN(at) ? undefined : at + HALF_A_SECOND;
}
