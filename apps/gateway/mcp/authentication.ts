import {
  bearerAuthChallengeResponse,
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
  verifyBearerToken,
  type AuthInfo,
  type OAuthTokenVerifier,
} from '@modelcontextprotocol/server';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { createClientDemand, NO_CLIENT, type ClientDemand } from '../../shared/auth/client-demand.ts';
import type { AccessToken, TokenVerifier } from '../../shared/auth/access-token.ts';
import { scopesFor } from '../../shared/auth/client-credentials.ts';
import type { Config } from '../../shared/config/config.ts';
import { senderIsKnown } from '../../shared/http/address-limit.ts';
import { INTERNAL_ERROR, OWN_TOOLS } from '../wire/identifiers.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';

type Authenticated = Request & { auth?: AuthInfo };

export interface AuthenticationDeps {
  readonly config: Pick<Config, 'urls' | 'gateway' | 'tools' | 'identity'>;
  readonly verifier: TokenVerifier;
  readonly log: Logger;
}

const MISSING_SCOPE = { event: 'token_refused', reason: 'it lacks a scope that every request needs (gateway.scopes)' };
/** Seconds after which a client may ask again when the issuer's keys could not be read. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Lets only requests with a good access token on, before anything of their body is read. It is taken from the
 * `Authorization` header alone: a token in an address would stand in logs. @see RFC 6750, section 3
 */
export function authenticate({ config, verifier, log }: AuthenticationDeps): RequestHandler {
  const resource = new URL(config.urls.mcp);
  const options = {
    verifier: bearerVerifier({ verifier, hasClient: createClientDemand(config.identity, log), resource, log }),
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
    expectedResource: resource,
    requiredScopes: [...config.gateway.scopes],
  };
  return async (request, response, next) => {
    try {
      (request as Authenticated).auth = await verifyBearerToken(request.headers.authorization, options);
    } catch (error) {
      if (!(error instanceof OAuthError)) return unavailable(response, error);
      if (!hasToken(request)) return askForToken(response, error, options);
      if (error.code === String(OAuthErrorCode.InsufficientScope))
        log.info(MISSING_SCOPE, 'an access token is refused: it lacks a scope');
      return challenge(response, error, options);
    }
    senderIsKnown(response);
    next();
  };
}

/**
 * Refuses a call whose tool needs scopes that the token lacks, with one challenge that names all scopes of the call: a
 * client that was told of one after the other would have to ask its user for each. @see MCP authorization, scope challenge
 */
export function demandScopes({ config }: Pick<AuthenticationDeps, 'config'>): RequestHandler {
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(new URL(config.urls.mcp));
  return (request, response, next) => {
    const held = new Set((request as Authenticated).auth?.scopes);
    const needed = [...new Set(toolsCalledBy(request.body).flatMap((tool) => scopesFor(config, tool)))];
    if (needed.every((scope) => held.has(scope))) return next();
    const error = new OAuthError(OAuthErrorCode.InsufficientScope, 'The access token lacks a scope for this call');
    return challenge(response, error, { resourceMetadataUrl, requiredScopes: needed });
  };
}

/** The tools that the message, or one of a batch of earlier revisions, is to call, or to request a call of. */
function toolsCalledBy(body: unknown): string[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) => {
    const { method, params } = (message ?? {}) as { method?: unknown; params?: CallParams | null };
    if (method !== 'tools/call') return [];
    const wanted = params?.name === OWN_TOOLS.requestAccess ? [params.arguments?.tool] : [];
    return [params?.name, ...wanted].filter((name) => typeof name === 'string');
  });
}

interface CallParams {
  readonly name?: unknown;
  readonly arguments?: { readonly tool?: unknown } | null;
}

interface ChallengeOptions {
  readonly requiredScopes: string[];
  readonly resourceMetadataUrl: string;
}

function challenge(response: Response, error: OAuthError, options: ChallengeOptions): void {
  const { status, headers } = bearerAuthChallengeResponse(error, options);
  const header = headers.get('WWW-Authenticate');
  if (header !== null) response.set('WWW-Authenticate', header);
  response.status(status).json(error.toResponseObject());
}

/** Another scheme is no token, good or bad. */
const hasToken = ({ headers }: Request): boolean => /^bearer +\S/i.test(headers.authorization ?? '');

/**
 * Asks who came without a token for one: the same challenge, without the error from which a client would take that its token
 * is bad. @see RFC 6750, section 3.1
 */
function askForToken(response: Response, error: OAuthError, options: ChallengeOptions): void {
  const { status, headers } = bearerAuthChallengeResponse(error, options);
  const header = headers.get('WWW-Authenticate') ?? 'Bearer';
  response.set('WWW-Authenticate', header.replace(/error="[^"]*", error_description="[^"]*",? */, ''));
  response
    .status(status)
    .json({ message: 'This request needs an access token. The resource metadata names its issuer.' });
}

/** Not the token's fault: the client is to keep it, and to come back. */
function unavailable(response: Response, error: unknown): void {
  const isAway = error instanceof CountersignError && error.code === 'ERR_IDENTITY_PROVIDER_UNAVAILABLE';
  const message = isAway
    ? 'The gateway cannot check your token now. The request may be repeated later.'
    : 'Internal error';
  if (isAway) response.set('Retry-After', String(RETRY_AFTER_SECONDS));
  response.status(isAway ? 503 : 500).json({ jsonrpc: '2.0', id: null, error: { code: INTERNAL_ERROR, message } });
}

/** The verifier in the form that the SDK's bearer authentication takes; the token's own text says nothing to the client. */
function bearerVerifier({
  verifier,
  hasClient,
  resource,
  log,
}: Omit<AuthenticationDeps, 'config'> & {
  readonly hasClient: ClientDemand;
  readonly resource: URL;
}): OAuthTokenVerifier {
  return {
    async verifyAccessToken(token) {
      const { principal, scopes, claims, expiresAt } = await verified(verifier, token, log);
      if (!hasClient(principal)) throw new OAuthError(OAuthErrorCode.InvalidToken, NO_CLIENT);
      return {
        token,
        clientId: principal.clientId ?? '',
        scopes: [...scopes],
        expiresAt,
        resource,
        extra: { principal, claims },
      };
    },
  };
}

async function verified(verifier: TokenVerifier, token: string, log: Logger): Promise<AccessToken> {
  try {
    return await verifier.verify(token);
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'ERR_TOKEN_INVALID') {
      throw new OAuthError(OAuthErrorCode.InvalidToken, 'The access token is not valid here');
    }
    // Keys that cannot be read are our fault, not the token's: the client is not told to get another one.
    log.error({ err: error }, 'tokens cannot be checked');
    throw error;
  }
}

/** The caller of a request that passed authentication. Throws when it did not: such a request never gets this far. */
export function callerOf(auth: AuthInfo | undefined): Principal {
  const principal = auth?.extra?.['principal'];
  if (principal === undefined) throw new Error('a request without an authenticated caller reached the protocol layer');
  return principal as Principal;
}

/** What the token of a request that passed authentication says. */
export function claimsOf(auth: AuthInfo | undefined): JsonObject {
  return (auth?.extra?.['claims'] ?? {}) as JsonObject;
}
