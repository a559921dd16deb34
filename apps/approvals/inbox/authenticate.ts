import type { Request, RequestHandler, Response } from 'express';
import type { Approver, VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import { AGENT_ROLE, APPROVER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import { behind } from '../../../workflows/domain/access-request/parties.ts';
import type { AccessToken } from '../../shared/auth/access-token.ts';
import { NO_CLIENT, type ClientDemand } from '../../shared/auth/client-demand.ts';
import type { Person, PersonOf } from '../../shared/auth/sign-in.ts';
import { askToSignIn } from '../../shared/auth/sign-in-path.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { bearerTokenOf, challenge, demandScopes } from '../../shared/http/bearer.ts';
import { Refusal } from '../../shared/http/csrf.ts';

/** Who reads and decides, and through which door: an approver, or a supervising agent. */
export interface Voter extends Approver {
  readonly name: string;
  readonly via: Extract<VoteChannel, 'inbox' | 'api' | 'agent'>;
  /** What stands behind them beside their subject (`behind`): nothing is decided in which any name of it has a part. */
  readonly chain: readonly string[];
  /** Subjects that act for them by their token: each has one voice with them. */
  readonly actors: readonly string[];
}

/** A person, who may do everything else in the inbox as well. */
export interface Visitor extends Voter {
  readonly via: Extract<VoteChannel, 'inbox' | 'api'>;
}

/** Answers undefined for a token that is not good. */
export type VerifyAccessToken = (token: string) => Promise<AccessToken | undefined>;

/** What says who a visitor is, and whether they are still there. */
export interface Doors {
  readonly personOf: PersonOf;
  readonly verifyAccessToken: VerifyAccessToken;
  readonly hasClient: ClientDemand;
  readonly people: () => Directory;
  /** Scopes that an access token needs. */
  readonly scopes: readonly string[];
  /** Public address, which is also the audience of approvers' tokens. */
  readonly url: string;
}

/**
 * Lets approvers through, by bearer token or else by session: a request with a token never uses the session; and supervising
 * agents by token. What follows and is for people alone asks for `visitorOf`. The directory is asked at each request, and the
 * issuer as often as `identity.recheckSeconds` says: a person who was dismissed neither reads nor decides.
 */
export function votersOnly({ personOf, verifyAccessToken, hasClient, people, scopes, url }: Doors): RequestHandler {
  const byToken = async (request: Request, response: Response): Promise<Voter> => {
    const token = bearerTokenOf(request);
    const verified = token === undefined ? undefined : await verifyAccessToken(token);
    if (verified === undefined) {
      challenge(response, url, 'invalid_token');
      throw new Refusal(401, 'The bearer token is not valid', `It may have expired, or not be meant for ${url}.`);
    }
    if (!hasClient(verified.principal)) {
      challenge(response, url, 'invalid_token');
      throw new Refusal(401, 'The bearer token names no client', `${NO_CLIENT}, or decide in the inbox.`);
    }
    demandScopes(response, { realm: url, held: verified.scopes, needed: scopes });
    return voterFrom(verified);
  };
  return async (request, response, next) => {
    response.vary('Accept, Authorization, Cookie');
    const isProgram = request.get('Authorization') !== undefined;
    const person = isProgram ? undefined : await personOf(request);
    if (!isProgram && person === undefined) return askToSignIn(request, response, pageOf(request));
    const voter = person === undefined ? await byToken(request, response) : voterFor(person);
    refuseInactive(voter, people());
    setVoter(response, voter);
    next();
  };
}

/** The page on which the form of a request stands. */
const pageOf = ({ originalUrl }: Request): string =>
  /^\/requests\/[\w-]+(?=\/)/.exec(originalUrl)?.[0] ?? (originalUrl.startsWith('/delegations') ? '/delegations' : '/');

function refuseInactive({ subject, chain }: Voter, people: Directory): void {
  if ([subject, ...chain].every((one) => people.find(one)?.isActive !== false)) return;
  throw new Refusal(403, 'This account is not active', 'The directory says so. Ask the people who keep it.');
}

function voterFor(person: Person): Voter {
  const { issuer, subject, name, roles } = person;
  if (roles.includes(AGENT_ROLE)) throw peopleOnly();
  // The client here is our own pages, through which no call is made.
  if (roles.includes(APPROVER_ROLE)) return { issuer, subject, name, roles, via: 'inbox', ...standing(person) };
  const nextStep = `You are signed in as ${name}, who does not have the role “${APPROVER_ROLE}”. Ask the people who give out roles, or sign in as another person.`;
  throw new Refusal(403, 'This is not for you', nextStep);
}

const standing = (of: Parameters<typeof behind>[0]) => ({
  chain: behind(of),
  actors: (of.actors ?? []).map(({ subject }) => subject),
});

/** Lets people through who passed `votersOnly`. */
export const approversOnly: RequestHandler = (request, response, next) => {
  next(voterOf(request, response).via === 'agent' ? peopleOnly() : undefined);
};

/** Whoever is an agent is none of the approvers too: what is for these needs a person, however the issuer gives out roles. */
function voterFrom({ principal, roles, claims }: AccessToken): Voter {
  const { issuer, subject } = principal;
  const name = typeof claims['name'] === 'string' ? claims['name'] : subject;
  const whom = { issuer, subject, name, ...standing(principal) };
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
