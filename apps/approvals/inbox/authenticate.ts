import type { Request, RequestHandler, Response } from 'express';
import type { Approver, VoteChannel } from '../../../workflows/domain/access-request/access-request.ts';
import {
  AGENT_ROLE,
  APPROVER_ROLE,
  type BrowserSession,
  OVERSEER_ROLE,
} from '../../../workflows/domain/access-request/eligibility.ts';
import { behind } from '../../../workflows/domain/access-request/parties.ts';
import type { AccessToken } from '../../shared/auth/access-token.ts';
import { NO_CLIENT, type ClientDemand } from '../../shared/auth/client-demand.ts';
import type { Person, PersonOf } from '../../shared/auth/sign-in.ts';
import { askToSignIn } from '../../shared/auth/sign-in-path.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { bearerTokenOf, challenge, demandScopes } from '../../shared/http/bearer.ts';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { setSignedIn } from '../../shared/pages/layout.tsx';

/** An approver or a supervising agent who reads and decides, and the channel they use. */
export interface Voter extends Approver {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly via: Extract<VoteChannel, 'inbox' | 'api' | 'agent'>;
  /** Names behind them beside their subject (`behind`). They cannot decide a request in which one of these has a part. */
  readonly chain: readonly string[];
  /** Subjects that act for them by their token: together they have one vote. */
  readonly actors: readonly string[];
  /** Only of a person who is signed in with a browser. A program has none, whichever token it holds. */
  readonly session?: BrowserSession;
}

/** A person, who can use the rest of the inbox as well. */
export interface Visitor extends Voter {
  readonly via: Extract<VoteChannel, 'inbox' | 'api'>;
}

/** Whether they may read what concerns all approvers. That right gives no vote. */
export const isOverseer = ({ roles, via }: Pick<Voter, 'roles' | 'via'>): boolean =>
  via !== 'agent' && roles.includes(OVERSEER_ROLE);

/** Identifies a visitor and says whether their account is still active. */
export interface Doors {
  readonly personOf: PersonOf;
  /** Returns undefined for an invalid token. */
  readonly verifyAccessToken: (token: string) => Promise<AccessToken | undefined>;
  readonly hasClient: ClientDemand;
  readonly people: () => Directory;
  readonly scopes: readonly string[];
  /** Public address, and the audience of approvers' tokens. */
  readonly url: string;
}

/**
 * Lets approvers through by bearer token or by session, and supervising agents by token. A request with a token never uses the
 * session. The directory is checked at each request and the issuer every `identity.recheckSeconds`, so that a dismissed person
 * neither reads nor decides.
 */
export function votersOnly({ personOf, verifyAccessToken, hasClient, people, scopes, url }: Doors): RequestHandler {
  const byToken = async (request: Request, response: Response): Promise<Voter> => {
    const token = bearerTokenOf(request);
    const verified = token === undefined ? undefined : await verifyAccessToken(token);
    if (verified === undefined) {
      challenge(response, url, 'invalid_token');
      throw new Refusal(401, 'The bearer token is not valid', `It may have expired, or its audience is not ${url}.`);
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
    if (person !== undefined) setSignedIn(response, { name: person.name, csrfToken: csrfTokenOf(request) });
    const signed = person === undefined ? await byToken(request, response) : voterFor(person, request.sessionID);
    refuseInactive(signed, people());
    const { subject, aliases, actors } = signed;
    // A person of several names has one voice, by whichever they come.
    const voter = { ...signed, aliases: [...aliases, ...people().otherNamesOf([subject, ...aliases, ...actors])] };
    response.locals['voter'] = voter;
    next();
  };
}

/** The page that contains the submitted form. */
const pageOf = ({ originalUrl }: Request): string =>
  /^\/requests\/[\w-]+(?=\/)/.exec(originalUrl)?.[0] ??
  /^\/(?:delegations|figures|grants|mailbox|passkeys)(?=$|[/?])/.exec(originalUrl)?.[0] ??
  '/';

function refuseInactive({ subject, chain }: Voter, people: Directory): void {
  if ([subject, ...chain].every((one) => people.find(one)?.isActive !== false)) return;
  throw new Refusal(
    403,
    'This account is not active',
    'The directory marks it as inactive. Ask the administrators of the directory.',
  );
}

function voterFor(person: Person, id: string): Voter {
  const { issuer, subject, name, roles, signedInAt } = person;
  if (roles.includes(AGENT_ROLE)) throw peopleOnly();
  // A session has no client beside the inbox itself, which makes no calls.
  const session = { id, signedInAt };
  if (roles.includes(APPROVER_ROLE))
    return { issuer, subject, name, roles, via: 'inbox', ...standing(person), session };
  const nextStep = `You are signed in as ${name}, who does not have the role “${APPROVER_ROLE}”. Ask an administrator for the role. Or sign out, and open this address again as another person.`;
  throw new Refusal(403, 'You are not an approver', nextStep);
}

const standing = (of: Parameters<typeof behind>[0]) => ({
  aliases: (of.aliases ?? []).filter((one) => of.clientAliases?.includes(one) !== true),
  chain: behind(of),
  actors: (of.actors ?? []).map(({ subject }) => subject),
});

/** Lets people through who passed `votersOnly`. */
export const approversOnly: RequestHandler = (_request, response, next) => {
  next(voterOf(response).via === 'agent' ? peopleOnly() : undefined);
};

/** An agent never counts as an approver, even where the issuer gives it both roles: approvals need a person. */
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
    `The token has neither the role “${APPROVER_ROLE}” nor the role of supervising agents, “${AGENT_ROLE}”.`,
  );
}

const peopleOnly = () =>
  new Refusal(
    403,
    'Only people can do this',
    `An agent (role “${AGENT_ROLE}”) can list, read and decide requests by token.`,
  );

/** The voter that `votersOnly` let through. */
export function voterOf(response: Response): Voter {
  const voter = response.locals['voter'] as Voter | undefined;
  if (voter === undefined) throw new Error('a request without a voter reached the inbox');
  return voter;
}

/** The person that `votersOnly` and `approversOnly` let through. */
export function visitorOf(response: Response): Visitor {
  const { via, ...voter } = voterOf(response);
  if (via === 'agent') throw new Error('an agent reached a handler for people');
  return { ...voter, via };
}
