/** Whether an address may be contacted: what documents and denials name is fetched from nowhere else. */
export type IsTrusted = (url: string) => boolean;

/** Which addresses may be contacted, by what is sent there: no service gets the credential of the other. */
export interface Trust {
  /** Evaluation requests, with the credential for the PDP. */
  readonly pdp: IsTrusted;
  /** Access requests, with the credential for their service. */
  readonly accessRequests: IsTrusted;
  /** Requests for a document that says how an access request is filled in. They carry no credential. */
  readonly documents: IsTrusted;
}

/** @param known Addresses on the origins of each service. */
export function trustOf(known: { readonly pdp: readonly string[]; readonly accessRequests: readonly string[] }): Trust {
  const [pdp, accessRequests] = [trustedOrigins(known.pdp), trustedOrigins(known.accessRequests)];
  return { pdp, accessRequests, documents: (url) => pdp(url) || accessRequests(url) };
}

/**
 * Trusts the origins (scheme, host and port) of these addresses and no others, so that a credential and a call go only where
 * the configuration says. @see ARAP-SEC-02 (PRJ-24)
 */
export function trustedOrigins(known: readonly string[]): IsTrusted {
  const origins = new Set(known.map((url) => new URL(url).origin));
  return (url) => URL.canParse(url) && origins.has(new URL(url).origin);
}
