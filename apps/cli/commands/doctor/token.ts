import { decodeJwt, errors } from 'jose';
import type { JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { principalOf } from '../../../shared/auth/principal-of.ts';
import type { Config } from '../../../shared/config/config.ts';
import { fail, ok, warn, type Finding } from './check.ts';

const NAME = 'token';
const ANOTHER = 'put an access token of the issuer into COUNTERSIGN_TOKEN';

/** Whether the token of `COUNTERSIGN_TOKEN` names its client, where there is one. It is only read: who signed it is not looked at. */
export function checkToken({ urls, gateway, identity }: Config, token: string | undefined): Finding[] {
  if (token === undefined) return [];
  const claims = claimsIn(token);
  if (claims === undefined) return [fail(NAME, 'the token in COUNTERSIGN_TOKEN is no JWT', ANOTHER)];
  const principal = principalOf(claims, { issuer: urls.issuer, identityClaim: gateway.coaz.identityClaim });
  if (principal === undefined) {
    return [fail(NAME, 'the token in COUNTERSIGN_TOKEN names no subject, or its act chain cannot be read', ANOTHER)];
  }
  if (principal.clientId !== undefined) return [ok(NAME, `client ${principal.clientId}`)];
  const advice =
    'have the issuer write client_id or azp into access tokens, or set identity.allowTokensWithoutClient: true';
  const found = 'the token in COUNTERSIGN_TOKEN names no client';
  return [identity.allowTokensWithoutClient ? warn(NAME, found, advice) : fail(NAME, found, advice)];
}

function claimsIn(token: string): JsonObject | undefined {
  try {
    return decodeJwt<JsonObject>(token);
  } catch (error) {
    if (error instanceof errors.JWTInvalid) return undefined;
    throw error;
  }
}
