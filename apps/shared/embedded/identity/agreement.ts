import type { Client } from 'oidc-provider';
import { canonicalJson } from '../../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../crypto.ts';

/** What a person agrees to when they let a host act for them. */
export interface Agreement {
  readonly clientId: string;
  /** As the host names itself. Without a name, an empty text. */
  readonly clientName: string;
  readonly redirectUri: string;
  /** The resource as the host asked for it. */
  readonly resource: string;
  /** Scopes of the sign-in and of the resource, in order. */
  readonly scopes: readonly string[];
}

export interface Asked {
  readonly client: Client;
  readonly redirectUri: string;
  readonly resource: string;
  readonly scopes: readonly string[];
}

export const agreementOf = ({ client, redirectUri, resource, scopes }: Asked): Agreement => ({
  clientId: client.clientId,
  clientName: client.clientName ?? '',
  redirectUri,
  resource,
  scopes: [...scopes].sort(),
});

/** Differs when anything that the page shows differs. */
export const digestOf = (agreement: Agreement): string =>
  sha256(canonicalJson({ ...agreement, scopes: [...agreement.scopes] }));

/** Whether the host is still the one that the person agreed to: its name is the same, and it still goes back to the same address. */
export const stillHolds = (agreement: Agreement, client: Client): boolean =>
  agreement.clientId === client.clientId &&
  agreement.clientName === (client.clientName ?? '') &&
  client.redirectUriAllowed(agreement.redirectUri);
