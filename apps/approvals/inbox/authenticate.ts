import type { Request, RequestHandler, Response } from 'express';
import type { Approver, VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import { AGENT_ROLE, APPROVER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import { behind } from '../../../workflows/domain/access-request/parties.ts';
import type { AccessToken } from '../../shared/auth/access-token.ts';
import { NO_CLIENT, type ClientDemand } from '../../shared/auth/client-demand.ts';
import { personOf, requireRole } from '../../shared/auth/sign-in.ts';
import { bearerTokenOf, challenge, demandScopes } from '../../shared/http/bearer.ts';
import { Refusal } from '../../shared/http/refusal.ts';

/** Who reads and decides, and through which door: an approver, or a supervising agent. */
export interface Voter extends Approver {
  readonly name: string;
  readonly via: Extract<VoteChannel, 'inbox' | 'api' | 'agent'>;
  /** What stands behind them beside their subject (`behind`): nothing is decided in which any name of it has a part. */
  readonly chain: readonly string[];
}

/** A person, who may do everything else in the inbox as well. */
export interface Visitor extends Voter {
  readonly via: Extract<VoteChannel, 'inbox' | 'api'>;
}

/** Answers undefined for a token that is not good. */
export type VerifyAccessToken = (token: string) => Promise<AccessToken | undefined>;

export interface VoterChecks {
  readonly verify: VerifyAccessToken;
  readonly hasClient: ClientDemand;
  /** Public address of the service. */
  readonly realm: string;
  /** That an access token needs. */
  readonly scopes: readonly string[];
}

/**
 * Lets approvers through, by bearer token or else by session: a request with a token never uses the session; and supervising
 * agents by token. What follows and is for people alone asks for `visitorOf`.
 */
export function votersOnly({ verify, hasClient, realm, scopes }: VoterChecks): RequestHandler {
  const withSession = requireRole(APPROVER_ROLE);
  return async (request, response, next) => {
    response.vary('Accept, Authorization, Cookie');
    if (request.get('Authorization') === undefined) {
      return withSession(request, response, (error?: unknown) => {
        const person = personOf(request);
        if (error !== undefined || person === undefined) return next(error);
        if (person.roles.includes(AGENT_ROLE)) return next(peopleOnly());
        // The client here is our own pages, through which no call is made.
        setVoter(response, { ...person, via: 'inbox', chain: behind(person) });
        next();
      });
    }
    const token = bearerTokenOf(request);
    const verified = token === undefined ? undefined : await verify(token);
    if (verified === undefined) {
      challenge(response, realm, 'invalid_token');
      throw new Refusal(401, 'The bearer token is not valid', `It may have expired, or not be meant for ${realm}.`);
    }
    if (!hasClient(verified.principal)) {
      challenge(response, realm, 'invalid_token');
      throw new Refusal(401, 'The bearer token names no client', `${NO_CLIENT}, or decide in the inbox.`);
    }
    demandScopes(response, { realm, held: verified.scopes, needed: scopes });
    setVoter(response, voterFrom(verified));
    next();
  };
}

/** Lets people through who passed `votersOnly`. */
export const approversOnly: RequestHandler = (request, response, next) => {
  next(voterOf(request, response).via === 'agent' ? peopleOnly() : undefined);
};

/** Whoever is an agent is none of the approvers too: what is for these needs a person, however the issuer gives out roles. */
function voterFrom({ principal, roles, claims }: AccessToken): Voter {
  const { issuer, subject } = principal;
  const name = typeof claims['name'] === 'string' ? claims['name'] : subject;
  const whom = { issuer, subject, name, chain: behind(principal) };
  if (roles.includes(AGENT_ROLE)) {
    return { ...whom, roles: roles.filter((role) => role !== APPROVER_ROLE), via: 'agent' };
  }
  if (roles.includes(APPROVER_ROLE)) return { ...whom, roles, via: 'api' };
  throw new Refusal(
    403,
    'You are not an approver',
    `The token lacks the role “${APPROVER_ROLE}”, and that of agents which decide: “${AGENT_ROLE}”.`,
  );
}

const peopleOnly = () =>
  new Refusal(
    403,
    'This is for people',
    `An agent, with the role “${AGENT_ROLE}”, can list, read and decide by token.`,
  );

function setVoter(response: Response, voter: Voter): void {
  response.locals['voter'] = voter;
}

/** Who passed `votersOnly`. Throws when nobody did: such a request never gets this far. */
export function voterOf(_request: Request, response: Response): Voter {
  const voter = response.locals['voter'] as Voter | undefined;
  if (voter === undefined) throw new Error('a request without a voter reached the inbox');
  return voter;
}

/** The person who passed `votersOnly` and `approversOnly`. Throws when nobody did. */
export function visitorOf(request: Request, response: Response): Visitor {
  const { via, ...voter } = voterOf(request, response);
  if (via === 'agent') throw new Error('an agent reached what is for people');
  return { ...voter, via };
}
