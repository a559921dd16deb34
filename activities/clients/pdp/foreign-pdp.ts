import type { Logger } from 'pino';
import type { Timing } from '../../../apps/shared/limits.ts';
import { createConnections, type Credential, type CredentialSettings, trustedOrigins } from '../http.ts';
import { bodyOf, createPdpExchange } from './client.ts';
import { createPdpMetadata, type PdpMetadataOptions } from './metadata.ts';

interface ForeignPdpSettings
  extends Pick<PdpMetadataOptions, 'metadata' | 'signedMetadata'>, Pick<CredentialSettings, 'clientCertificate'> {
  readonly url: string;
  readonly trustedOrigins: readonly string[];
  /** Sent with every request: the credential, in the form that the PDP wants. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Asks another PDP, and hands its answer on, unread. Throws `ERR_PDP_UNAVAILABLE` when there is no answer, and when its metadata
 * cannot be used.
 */
export function connectForeignPdp(
  settings: ForeignPdpSettings,
  { log, ...time }: Timing & { readonly log: Logger },
): (request: object) => Promise<unknown> {
  const { url, metadata, signedMetadata, headers, clientCertificate } = settings;
  const credential: Credential = { headers, via: createConnections(clientCertificate) };
  const isTrusted = trustedOrigins([url, ...settings.trustedOrigins]);
  const known = { metadata, signedMetadata, isTrusted, via: credential.via };
  const describe = createPdpMetadata({ pdpUrl: url, ...known, ...time });
  const exchange = createPdpExchange({ credential, log, clock: time.clock, timeoutMs: time.limits.foreignPdpAnswerMs });
  return async (request) => bodyOf(await exchange((await describe()).evaluation, request));
}
