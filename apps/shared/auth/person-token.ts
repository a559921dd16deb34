import type { Config } from '../config/config.ts';
import { clientSecretOf, type DevelopmentSecrets } from '../config/development-secrets.ts';
import { requestToken, type IssuedToken } from './client-credentials.ts';
import { resourcesOf } from './resources.ts';

/** A token of one of the people of the embedded identity provider, for one service. Fails as `requestToken` does. */
export function requestPersonToken(
  { urls }: Pick<Config, 'urls'>,
  { identity }: Pick<DevelopmentSecrets, 'identity'>,
  { name, audience }: { name: string; audience: keyof ReturnType<typeof resourcesOf> },
): Promise<IssuedToken> {
  return requestToken({
    issuer: urls.issuer,
    clientId: name,
    clientSecret: clientSecretOf(identity, name),
    resource: resourcesOf({ urls })[audience],
  });
}
