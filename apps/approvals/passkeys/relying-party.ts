import { isIP } from 'node:net';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Config } from '../../shared/config/config.ts';
import { isLoopbackHost } from '../../shared/http/known-hosts.ts';

/** The site to which passkeys are bound. Browsers give a signature only to a page of this origin. */
export interface RelyingParty {
  /** A domain name. */
  readonly id: string;
  readonly origin: string;
  /** Whether it is this machine, under a name that means another machine elsewhere. */
  readonly isLocal: boolean;
}

/**
 * The site of this address. An address of this machine counts under its name `localhost`, because no passkey can be bound to an IP address.
 * Undefined if browsers offer no passkeys there.
 * @see Web Authentication Level 3, section 5.1.3 (effective domain), and section 13.4.9 (validating the origin)
 */
export function relyingPartyOf(url: string): RelyingParty | undefined {
  const address = new URL(url);
  const host = address.hostname.replace(/^\[|\]$/g, '');
  if (isLoopbackHost(host)) {
    address.hostname = 'localhost';
    return { id: 'localhost', origin: address.origin, isLocal: true };
  }
  if (address.protocol !== 'https:' || isIP(host) !== 0) return undefined;
  return { id: host, origin: address.origin, isLocal: false };
}

type Demanding = Pick<Config, 'approvals' | 'urls'>;

/** Throws `ERR_CONFIG_INVALID` if a template demands a passkey and browsers offer none at the address of the inbox. */
export function refuseImpossiblePasskeys({ approvals, urls }: Demanding): void {
  const demanding = Object.entries(approvals.templates).find(
    ([, { passkey, stages }]) => passkey || stages.some((stage) => stage.passkey),
  );
  if (demanding === undefined || relyingPartyOf(urls.approvals) !== undefined) return;
  throw new CountersignError(
    'ERR_CONFIG_INVALID',
    `approvals.url: the template ${JSON.stringify(demanding[0])} demands a passkey, which needs an https address with a domain name`,
  );
}
