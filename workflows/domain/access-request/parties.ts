import { type Json, type JsonObject, objectOf } from '../canonical-json.ts';
import type { Principal } from '../principal.ts';
import type { AccessRequest } from './access-request.ts';
import { isOnePerson, keysOf } from './same-person.ts';
import type { ConfirmerNames } from './stages.ts';

/** The parts of a submission that name a person or a program for which, or through which, access is asked. */
export interface PartiesSource {
  readonly subject: { readonly id: string; readonly properties?: JsonObject | undefined };
  readonly context: JsonObject;
  readonly client?: JsonObject | undefined;
}

/**
 * Names that may not decide a request: the subject, the requester by the names of their token, the agent that asked, and every
 * actor in the chains of both, in the form in which names are compared (`nameKey`). A name that was not verified can only keep its bearer
 * from deciding, and lets no one in (ARAP-SUB-18).
 * @see ARAP, Approver Eligibility and Delegation
 */
export function partiesOf({ subject, context, client }: PartiesSource): string[] {
  const { actor, source } = client ?? {};
  const requester = objectOf(objectOf(source)['requester']);
  const { aliases } = requester;
  const named = [
    subject.id,
    context['agent'],
    ...chainOf(subject.properties?.['act']),
    ...chainOf(actor),
    requester['sub'],
    ...(Array.isArray(aliases) ? (aliases as readonly Json[]) : []),
  ];
  return keysOf(distinct(named));
}

/** Every name of an actor and of those behind it, from the outermost inwards. @see RFC 8693, section 4.1 */
function chainOf(actor: Json | undefined): string[] {
  const found: (Json | undefined)[] = [];
  for (let at = objectOf(actor); Object.keys(at).length > 0; at = objectOf(at['act'])) {
    found.push(at['id'], at['sub'], at['client_id'], at['azp']);
  }
  return distinct(found);
}

/**
 * The names behind a vote beside its subject: their other names, the client of their token, and every actor of its chain. The
 * client is in it for every role: a program that holds a person's token must not approve its own request.
 */
export function behind({ clientId, aliases = [], actors = [] }: Omit<Principal, 'issuer' | 'subject'>): string[] {
  return distinct([...aliases, clientId, ...actors.flatMap((one) => [one.subject, one.clientId])]);
}

export type Part = 'own_request' | 'delegate_of_requester';

/**
 * The part that any of these names has in a request, which keeps their bearer from deciding it; undefined when none has. The one
 * rule for every channel and every role; `approvals.part_in` is the same rule in the database, under the lock of the request.
 */
export function partIn(
  { parties, delegates }: Pick<AccessRequest, 'parties' | 'delegates'>,
  names: readonly string[],
): Part | undefined {
  if (isOnePerson(names, parties)) return 'own_request';
  return isOnePerson(names, delegates) ? 'delegate_of_requester' : undefined;
}

/**
 * The person whose agent asks, with the names by which they may confirm it; undefined when there is none. The issuer of the enforcement
 * point's token has to be known, and the subject of the denial has to be one of the names in that token: another subject may come from
 * arguments of the call. A name that a program in the request also bears belongs to no person: an agent may have an account of its own.
 */
export function confirmerOf(
  { subject, context, client }: PartiesSource,
  issuers: ReadonlySet<string>,
): ConfirmerNames | undefined {
  const { actor, source } = client ?? {};
  const { iss: issuer, sub, aliases } = objectOf(objectOf(source)['requester']);
  if (typeof issuer !== 'string' || typeof sub !== 'string' || sub === '' || !issuers.has(issuer)) return undefined;
  const names = [sub, ...(Array.isArray(aliases) ? (aliases as readonly Json[]) : [])];
  const programs = distinct([context['agent'], ...chainOf(subject.properties?.['act']), ...chainOf(actor)]);
  const subjects = distinct([subject.id, sub]);
  if (!names.includes(subject.id) || isOnePerson(subjects, programs)) return undefined;
  return { issuer, subjects, keys: keysOf(subjects) };
}

const distinct = (names: readonly (Json | undefined)[]): string[] => [
  ...new Set(names.filter((one): one is string => typeof one === 'string' && one !== '')),
];
