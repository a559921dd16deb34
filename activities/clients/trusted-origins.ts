/** Whether an address may be contacted: what documents and denials name is fetched from nowhere else. */
export type IsTrusted = (url: string) => boolean;

/**
 * Trusts the origins (scheme, host and port) of these addresses and no others, so that a credential and a call go only where
 * the configuration says. @see ARAP-SEC-02 (PRJ-24)
 */
export function trustedOrigins(known: readonly string[]): IsTrusted {
  const origins = new Set(known.map((url) => new URL(url).origin));
  return (url) => URL.canParse(url) && origins.has(new URL(url).origin);
}
