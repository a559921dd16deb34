import type { Config } from '../config/config.ts';
import { clientSecretOf, type DevelopmentSecrets } from '../config/development-secrets.ts';
import { limitsOf } from '../limits.ts';
import { requestToken, type IssuedToken } from './client-credentials.ts';
import { resourcesOf } from './resources.ts';

/** Whose token it is, and what for. */
export interface PersonToken {
  readonly name: string;
  readonly audience: keyof ReturnType<typeof resourcesOf>;
  /** Separated by blanks. Default: all that the service knows. */
  readonly scope?: string | undefined;
}

/** A token of one of the people of the embedded identity provider, for one service. Fails as `requestToken` does. */
export function requestPersonToken(
  config: Pick<Config, 'urls' | 'gateway' | 'tools' | 'approvals' | 'audit' | 'timeLimitFactor'>,
  { identity }: Pick<DevelopmentSecrets, 'identity'>,
  { name, audience, scope }: PersonToken,
): Promise<IssuedToken> {
  const resource = resourcesOf(config)[audience];
  return requestToken({
    issuer: config.urls.issuer,
    clientId: name,
    clientSecret: clientSecretOf(identity, name),
    limits: limitsOf(config),
    resource: scope === undefined ? resource : { ...resource, scope },
  });
}
