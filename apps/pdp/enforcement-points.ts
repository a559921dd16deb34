import { PEP_CLIENT_ID } from '../../workflows/domain/authzen/pep.ts';
import type { Config } from '../shared/config/config.ts';
import { secretText } from '../shared/config/secret-text.ts';

/** Who may ask: a name, to which denials and approvals are bound, and the bearer token that proves it. */
export interface EnforcementPoint {
  readonly name: string;
  readonly token: string;
}

/** Gateway and worker as one, whichever replica speaks, then those that are configured. Throws `ERR_CONFIG_INVALID`. */
export async function enforcementPoints({ pdp }: Config, ownToken: string): Promise<EnforcementPoint[]> {
  const configured = Object.entries(pdp.enforcementPoints).map(async ([name, { token }]) => ({
    name,
    token: await secretText(token, `pdp.enforcementPoints.${name}.token`),
  }));
  return [{ name: PEP_CLIENT_ID, token: ownToken }, ...(await Promise.all(configured))];
}
