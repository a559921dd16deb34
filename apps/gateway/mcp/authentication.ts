import {
  bearerAuthChallengeResponse,
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
import type { TokenVerifier } from '../../shared/auth/access-token.ts';
import { scopesFor } from '../../shared/auth/client-credentials.ts';
import type { Config } from '../../shared/config/config.ts';
import { senderIsKnown } from '../../shared/http/address-limit.ts';
import { metadataUrlFor } from './resource.ts';
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
/** When a client may retry after the issuer's keys could not be read. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Lets only requests with a valid access token through, before their body is read. The token must be in the `Authorization` header: a
 * token in an address would end up in logs. @see RFC 6750, section 3
 */
export function authenticate({ config, verifier, log }: AuthenticationDeps): RequestHandler {
  const resource = new URL(config.urls.mcp);
  const options = {
    verifier: bearerVerifier({ verifier, hasClient: createClientDemand(config.identity, log), resource, log }),
    expectedResource: resource,
    requiredScopes: [...config.gateway.scopes],
  };
  return async (request, response, next) => {
    try {
      (request as Authenticated).auth = await verifyBearerToken(request.headers.authorization, options);
    } catch (error) {
      if (!(error instanceof OAuthError)) return unavailable(response, error);
      // Another scheme is not a token, valid or invalid.
      const hasToken = /^bearer +\S/i.test(request.headers.authorization ?? '');
      const { requiredScopes } = options;
      const asked = { requiredScopes, resourceMetadataUrl: metadataUrlFor(request, config) };
      if (!hasToken) return askForToken(response, error, asked);
      if (error.code === String(OAuthErrorCode.InsufficientScope))
        log.info(MISSING_SCOPE, 'an access token is refused: it lacks a scope');
      return challenge(response, error, asked);
    }
    senderIsKnown(response);
    next();
  };
}

/**
 * Refuses a call whose tool needs scopes that the token lacks. One challenge names all scopes of the call, so that the client asks its
 * user only once. @see MCP authorization, scope challenge
 */
export function demandScopes({ config }: Pick<AuthenticationDeps, 'config'>): RequestHandler {
  return (request, response, next) => {
    const held = new Set((request as Authenticated).auth?.scopes);
    const needed = [...new Set(toolsCalledBy(request.body).flatMap((tool) => scopesFor(config, tool)))];
    if (needed.every((scope) => held.has(scope))) return next();
    const error = new OAuthError(OAuthErrorCode.InsufficientScope, 'The access token lacks a scope for this call');
    const resourceMetadataUrl = metadataUrlFor(request, config);
    return challenge(response, error, { resourceMetadataUrl, requiredScopes: needed });
  };
}

/** The tools that the message, or a batch of an earlier revision, calls or requests access to. */
function toolsCalledBy(body: unknown): string[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) => {
    const { method, params } = (message ?? {}) as {
      method?: unknown;
      params?: { name?: unknown; arguments?: { tool?: unknown } | null } | null;
    };
    if (method !== 'tools/call') return [];
    const wanted = params?.name === OWN_TOOLS.requestAccess ? [params.arguments?.tool] : [];
    return [params?.name, ...wanted].filter((name) => typeof name === 'string');
  });
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

/**
 * Asks for a token if the request has none: the same challenge, without the error that would tell a client that its token is invalid.
 * @see RFC 6750, section 3.1
 */
function askForToken(response: Response, error: OAuthError, options: ChallengeOptions): void {
  const { status, headers } = bearerAuthChallengeResponse(error, options);
  const header = headers.get('WWW-Authenticate') ?? 'Bearer';
  response.set('WWW-Authenticate', header.replace(/error="[^"]*", error_description="[^"]*",? */, ''));
  response
    .status(status)
    .json({ message: 'This request needs an access token. The resource metadata names its issuer.' });
}

/** The token is not at fault: the client should keep it and retry. */
function unavailable(response: Response, error: unknown): void {
  const isAway = error instanceof CountersignError && error.code === 'ERR_IDENTITY_PROVIDER_UNAVAILABLE';
  const message = isAway
    ? 'The gateway cannot check your token now. The request may be repeated later.'
    : 'Internal error';
  if (isAway) response.set('Retry-After', String(RETRY_AFTER_SECONDS));
  response.status(isAway ? 503 : 500).json({ jsonrpc: '2.0', id: null, error: { code: INTERNAL_ERROR, message } });
}

/** Adapts the verifier to the SDK's bearer authentication. */
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
      const { principal, scopes, claims, expiresAt } = await verifier.verify(token).catch((error: unknown) => {
        if (error instanceof CountersignError && error.code === 'ERR_TOKEN_INVALID') {
          throw new OAuthError(OAuthErrorCode.InvalidToken, 'The access token is not valid here');
        }
        // Unreadable keys are not the token's fault: the client is not told to get another token.
        log.error({ err: error }, 'tokens cannot be checked');
        throw error;
      });
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

/** The caller of a request that passed authentication. Throws for any other request, which must not get this far. */
export function callerOf(auth: AuthInfo | undefined): Principal {
  const principal = auth?.extra?.['principal'];
  if (principal === undefined) throw new Error('a request without an authenticated caller reached the protocol layer');
  return principal as Principal;
}

/** The token's claims of a request that passed authentication. */
export function claimsOf(auth: AuthInfo | undefined): JsonObject {
  return (auth?.extra?.['claims'] ?? {}) as JsonObject;
}
