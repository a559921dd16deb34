import type { Logger } from 'pino';
import type { Credential, CredentialSettings } from './credential.ts';
import { createConnections } from './credential.ts';
import { bodyOf, createPdpExchange } from './pdp-exchange.ts';
import { createPdpMetadata, type PdpMetadataOptions } from './pdp-metadata.ts';
import { trustedOrigins } from './trusted-origins.ts';

/** Less than whoever asks us waits, so that our own answer still comes. */
const TIMEOUT_MS = 4_000;

export interface ForeignPdpSettings
  extends Pick<PdpMetadataOptions, 'metadata' | 'signedMetadata'>, Pick<CredentialSettings, 'clientCertificate'> {
  readonly url: string;
  readonly trustedOrigins: readonly string[];
  /** Sent with every question: the credential, whatever the PDP wants it to be. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Asks a PDP of somebody else's, and hands on what it answers, unread. Throws `ERR_PDP_UNAVAILABLE` when there is no answer,
 * and when it cannot be told where to ask.
 */
export function connectForeignPdp(settings: ForeignPdpSettings, log: Logger): (question: object) => Promise<unknown> {
  const { url, metadata, signedMetadata, headers, clientCertificate } = settings;
  const credential: Credential = { headers, via: createConnections(clientCertificate) };
  const isTrusted = trustedOrigins([url, ...settings.trustedOrigins]);
  const describe = createPdpMetadata({ pdpUrl: url, metadata, signedMetadata, isTrusted, via: credential.via });
  const exchange = createPdpExchange({ credential, log, timeoutMs: TIMEOUT_MS });
  return async (question) => bodyOf(await exchange((await describe()).evaluation, question));
}
