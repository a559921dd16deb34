import type { Logger } from 'pino';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { Config } from '../config/config.ts';

/** Whether a token names its client, or the operator allows tokens that name no client. */
export type ClientDemand = (principal: Principal) => boolean;

/** The answer to a token without a client, for the person who uses it. */
export const NO_CLIENT =
  'The access token names no client: client_id, azp and cid are missing. Ask the operator of the issuer to add one of them';

/**
 * Without a client, two programs of a person cannot be told apart: neither which of them owns a task, nor whether the one that approves
 * is the one that asked. The first such token of each issuer is logged with the operator's next step.
 */
export function createClientDemand(
  { allowTokensWithoutClient: isAllowed }: Pick<Config['identity'], 'allowTokensWithoutClient'>,
  log: Logger,
): ClientDemand {
  const reported = new Set<string>();
  return ({ issuer, subject, clientId }) => {
    if (clientId !== undefined) return true;
    const isFirst = !reported.has(issuer);
    reported.add(issuer);
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
  'have the issuer write client_id (RFC 9068) or azp into access tokens (`countersign doctor --token-file` says where), or set identity.allowTokensWithoutClient: true and read in SECURITY.md what that gives up';
