import { discoverAuthorizationServerMetadata } from '@modelcontextprotocol/client';
import * as oidc from 'openid-client';
import * as z from 'zod';
import { isLoopbackHttp } from '../../shared/http/known-hosts.ts';
import type { Limits } from '../../shared/limits.ts';
import { CliError } from '../context.ts';
import type { SignedIn, TokenFile } from './token-file.ts';

/** Issuers may have no such endpoint. */
const revocation = z.looseObject({ revocation_endpoint: z.url({ protocol: /^https?$/ }).optional() });

/**
 * Ends a sign-in at its issuer, and deletes its tokens here in any case. Says what was done. Throws a `CliError` if the issuer still keeps
 * the sign-in. @see RFC 7009
 */
export async function signOut(
  file: TokenFile,
  { fetch, limits }: { fetch: typeof globalThis.fetch; limits: Limits },
): Promise<string> {
  return file.alone(async () => {
    // Under the lock: a refresh may just have replaced the tokens.
    const kept = file.read();
    if (kept === undefined) return 'You are not signed in.';
    try {
      return await revoked(kept, fetch);
    } catch (cause) {
      const message = `The tokens are deleted here, but ${kept.issuer} gives no good answer, and keeps the sign-in until it ends by itself.`;
      throw new CliError(`${message} To end it now, end the sign-in of this program there.`, { cause });
    } finally {
      file.forget();
    }
  }, 2 * limits.tokenMs);
}

async function revoked({ issuer, client, tokens }: SignedIn, fetchFn: typeof fetch): Promise<string> {
  const token = tokens?.refresh_token ?? tokens?.access_token;
  if (token === undefined) return 'Signed out. The sign-in had ended before.';
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn });
  const { revocation_endpoint: endpoint } = revocation.parse(metadata ?? {});
  if (endpoint === undefined) {
    return `Signed out here. ${issuer} cannot end sign-ins early: it keeps this one until it ends by itself.`;
  }
  const { client_id: id, client_secret: secret } = client;
  const configuration = new oidc.Configuration(
    { issuer, revocation_endpoint: endpoint },
    id,
    undefined,
    secret === undefined ? oidc.None() : oidc.ClientSecretBasic(secret),
  );
  configuration[oidc.customFetch] = fetchFn as oidc.CustomFetch;
  if (isLoopbackHttp(new URL(endpoint))) oidc.allowInsecureRequests(configuration);
  await oidc.tokenRevocation(configuration, token);
  return `Signed out at ${issuer}.`;
}
