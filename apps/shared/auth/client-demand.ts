import type { Logger } from 'pino';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { Config } from '../config/config.ts';

/** Whether a token may be used as far as its client goes: it names one, or the operator allows tokens that name none. */
export type ClientDemand = (principal: Principal) => boolean;

/** What a token without a client is answered with, for those who use it. */
export const NO_CLIENT =
  'The access token names no client: it has neither client_id nor azp. Ask the operator of the issuer to add one of them';

/**
 * Without a client two programs of a person cannot be told apart: neither whose task it is, nor whether the one that asked is the one that
 * approves. The first such token of each issuer is logged, with what an operator can do about it.
 */
export function createClientDemand(
  { allowTokensWithoutClient: isAllowed }: Pick<Config['identity'], 'allowTokensWithoutClient'>,
  log: Logger,
): ClientDemand {
  const told = new Set<string>();
  return ({ issuer, subject, clientId }) => {
    if (clientId !== undefined) return true;
    const isFirst = !told.has(issuer);
    told.add(issuer);
    if (isFirst && isAllowed)
      log.warn({ issuer }, 'access tokens name no client: all programs of a person count as one');
    if (isFirst && !isAllowed)
      log.error({ issuer, nextStep: NEXT_STEP }, 'access tokens name no client and are refused');
    if (!isAllowed) log.info({ event: 'token_refused', reason: 'it names no client', issuer, subject }, REFUSED);
    return isAllowed;
  };
}

const REFUSED = 'an access token is refused: it names no client';
const NEXT_STEP =
  'have the issuer write client_id (RFC 9068) or azp into access tokens, or set identity.allowTokensWithoutClient: true and read in SECURITY.md what that gives up';
