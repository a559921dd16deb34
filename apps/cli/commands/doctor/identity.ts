import * as z from 'zod';
import { ALGORITHMS, metadataOf } from '../../../shared/auth/access-token.ts';
import { allScopes, mcpAudience } from '../../../shared/auth/client-credentials.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import { isTrustworthy } from '../../../shared/config/units.ts';
import { type Limits, limitsOf } from '../../../shared/limits.ts';
import { attempt, fail, type Finding, ok, warn } from './check.ts';
import { placesOf, type Product, productOf } from './products.ts';

const texts = z.array(z.string());
const metadataSchema = z.looseObject({
  issuer: z.string(),
  jwks_uri: z.string(),
  token_endpoint: z.string().optional(),
  scopes_supported: texts.optional(),
  code_challenge_methods_supported: texts.optional(),
  end_session_endpoint: z.string().optional(),
});
type Metadata = z.infer<typeof metadataSchema>;

const keysSchema = z.looseObject({
  keys: z.array(z.looseObject({ kty: z.string(), use: z.string().optional(), alg: z.string().optional() })),
});

/** Products that list no scopes of APIs in their metadata. */
const SILENT_ON_SCOPES: readonly (Product | undefined)[] = ['Entra ID', 'Okta', 'Auth0'];

const OWN_AUTHORITY =
  'if your own authority signed it, start each process with NODE_EXTRA_CA_CERTS=/path/to/ca.pem; else renew the certificate';

/** What can be known of the issuer without a token. Of the embedded issuer, only whether it answers. */
export async function checkIdentity(config: Config): Promise<Finding[]> {
  let metadata: Metadata | undefined;
  const name = 'identity';
  const examined = await attempt(name, 'start the identity provider, or correct identity.issuer', async () => {
    metadata = metadataSchema.parse(await getJson(metadataOf(config.urls.issuer), limitsOf(config)));
    return checkKeys(config, metadata);
  });
  const isUntrusted = examined.status === 'fail' && metadata === undefined && /certificate/.test(examined.message);
  const issuer = isUntrusted ? fail(name, examined.message, OWN_AUTHORITY) : examined;
  if (metadata === undefined || issuer.status === 'fail' || config.identity.issuer === undefined) return [issuer];
  return [issuer, checkScopes(config, metadata), checkHosts(metadata), checkSignOut(metadata)];
}

/** The product behind the configured issuer; undefined where it is unknown, or the issuer does not answer. */
export async function knownProduct(config: Config): Promise<Product | undefined> {
  const { issuer } = config.urls;
  const read = getJson(metadataOf(issuer), limitsOf(config)).catch(() => undefined);
  return productOf(issuer, metadataSchema.safeParse(await read).data?.token_endpoint);
}

async function checkKeys(config: Config, metadata: Metadata): Promise<Finding> {
  const name = 'identity';
  const { issuer } = config.urls;
  const product = productOf(issuer, metadata.token_endpoint);
  const wanted = { audience: mcpAudience(config), scopes: config.gateway.scopes };
  if (metadata.issuer !== issuer) {
    // Without the tenant or the version, the metadata of Entra ID name an issuer that no token has.
    const advice =
      product === 'Entra ID' ? placesOf('issuer', product, wanted) : `set identity.issuer to ${metadata.issuer}`;
    return fail(name, `the issuer calls itself ${metadata.issuer}`, advice);
  }
  if (product === 'Okta' && !issuer.includes('/oauth2/'))
    return fail(name, 'this is the org authorization server of Okta', placesOf('jwt', product, wanted));
  if (!isTrustworthy(metadata.jwks_uri))
    return fail(name, 'the keys of the issuer are not served over https', 'have the issuer announce https addresses');
  const { keys } = keysSchema.parse(await getJson(metadata.jwks_uri, limitsOf(config)));
  const usable = keys.filter(
    ({ kty, use = 'sig', alg = '' }) => kty !== 'oct' && use === 'sig' && (alg === '' || ALGORITHMS.includes(alg)),
  );
  const shown = product === undefined ? issuer : `${issuer} (${product})`;
  if (usable.length > 0) return ok(name, `${shown}, keys for signatures: ${usable.length}`);
  return fail(
    name,
    'the issuer publishes no key with which Countersign can verify a token',
    `add a signing key at the identity provider, for one of ${ALGORITHMS.join(', ')}`,
  );
}

function checkScopes(config: Config, { scopes_supported: listed, token_endpoint: endpoint }: Metadata): Finding {
  const name = 'identity scopes';
  const product = productOf(config.urls.issuer, endpoint);
  const wanted = [...new Set([...allScopes(config), ...config.approvals.scopes, ...config.audit.scopes])];
  const scopes = wanted.filter((scope) => listed?.includes(scope) !== true);
  if (scopes.length === 0) return ok(name, `the issuer lists ${wanted.join(', ')}`);
  if (listed === undefined || SILENT_ON_SCOPES.includes(product))
    return ok(name, 'the issuer does not list scopes of APIs; check a token with --token-file');
  const missing = `the issuer does not list ${scopes.join(', ')}`;
  return warn(name, missing, placesOf('scopes', product, { audience: mcpAudience(config), scopes }));
}

/** @see MCP authorization, authorization code protection */
function checkHosts({ code_challenge_methods_supported: methods = [] }: Metadata): Finding {
  const name = 'identity hosts';
  if (methods.includes('S256')) return ok(name, 'the issuer announces PKCE (S256), which MCP hosts need for a sign-in');
  return warn(
    name,
    'the issuer does not announce PKCE (S256), so MCP hosts refuse to sign in there',
    'use programs that get their token themselves, or announce it at the issuer',
  );
}

function checkSignOut({ end_session_endpoint: endpoint }: Metadata): Finding {
  const name = 'identity sign-out';
  if (endpoint !== undefined) return ok(name, 'a sign-out here also ends the session at the issuer');
  return warn(
    name,
    'the issuer has no sign-out endpoint, so people stay signed in there',
    'on shared machines, let people sign out at the issuer as well',
  );
}

async function getJson(url: string, { examinationMs }: Limits): Promise<unknown> {
  const response = await fetch(url, { redirect: 'error', signal: systemClock.signalAfter(examinationMs) });
  if (!response.ok) throw new Error(`${url} answered with status ${response.status}`);
  return response.json();
}
