import { ACCESS_REQUEST_STATUSES } from '../../workflows/domain/access-request/access-request.ts';
import type { Approver } from '../../workflows/domain/access-request/access-request.ts';
import type { Effect } from '../../workflows/domain/tools/tool-facts.ts';
import { ORDERS } from '../shared/http/list-cursor.ts';
import { isAutomatic } from '../../workflows/domain/access-request/automatic.ts';
import { keysOf, voiceNames } from '../../workflows/domain/access-request/same-person.ts';
import { OVERSEER_ROLE, type Reader, voicesOf } from '../../workflows/domain/access-request/eligibility.ts';
import type { Directory } from '../shared/directory/directory.ts';

/** Filters of a list: a status, all ended requests, or those that the reader may decide now. */
export const LIST_CHOICES = [...ACCESS_REQUEST_STATUSES, 'ended', 'yours'] as const;
export type ListChoice = (typeof LIST_CHOICES)[number];

/** `soonest`: by the earlier deadline, of the stage or of the request. */
export const REQUEST_ORDERS = [...ORDERS, 'soonest'] as const;
export type RequestOrder = (typeof REQUEST_ORDERS)[number];

/** What the requests of a list have in common. Members that are there must all match. */
export interface RequestFilter {
  /** Each is in a name, or in the arguments as canonical JSON has them. Upper and lower case are the same. */
  readonly words?: readonly string[] | undefined;
  readonly tool?: string | undefined;
  /** The OAuth client. */
  readonly agent?: string | undefined;
  readonly requester?: string | undefined;
  readonly effect?: Effect | undefined;
  readonly alike?: string | undefined;
}

/** The most frequent kinds of requests in a list are counted, and no others. */
export const KINDS_COUNTED = 1_000;

/** How many of an agent's latest requests are looked through for those that the reader may read, so that no page takes long. */
export const LOOKED_THROUGH = 100;

/** A reader for the database: a JSON object as text, the first parameter of a statement. */
export type ReaderRow = string;

/** The database has no directory, so the statement carries the facts about its reader. */
export function readerRow(
  reader: Reader & {
    readonly chain: readonly string[];
    readonly actors: readonly string[];
    /** Those in whose place the reader may decide one request. */
    readonly handedOver?: readonly { readonly approver: Approver; readonly request: string }[];
  },
  people: Directory,
): ReaderRow {
  const { self, isPerson, mayBreakGlass, chain, actors, handedOver = [] } = reader;
  const isThere = (subject: string) => people.find(subject)?.isActive !== false;
  const persons = [self.subject, ...chain];
  const { subject: own, aliases = [] } = self;
  const voiceOf = ({ subject, aliases: others = [], roles }: Approver) => ({
    subject,
    names: keysOf([subject, ...others]),
    roles,
    groups: [...(people.find(subject)?.groups ?? [])],
    reports: [...people.reportsOf(subject)],
  });
  const voices = voicesOf(reader, people).map(voiceOf);
  const handed = handedOver.flatMap(({ approver, request }) =>
    isThere(approver.subject) && isAutomatic(approver) === false ? [{ ...voiceOf(approver), request }] : [],
  );
  return JSON.stringify({
    subject: self.subject,
    issuer: self.issuer,
    // As names of people are compared: those with a voice, and all behind them.
    names: keysOf(voiceNames({ subject: own, aliases, actors })),
    persons: keysOf([...persons, ...aliases]),
    // By which they may be the requester who confirms. A program never is.
    own: self.session === undefined || isAutomatic(self) !== false ? [] : persons,
    reads: isThere(self.subject),
    decides: [...persons, ...aliases].every(isThere),
    oversees: isPerson && self.roles.includes(OVERSEER_ROLE),
    is_person: isPerson,
    breaks_glass: isPerson && mayBreakGlass,
    voices: [...voices, ...handed],
    handed: handed.map(({ request }) => request),
    all: {
      subjects: voices.map(({ subject }) => subject),
      roles: voices.flatMap((one) => one.roles),
      groups: voices.flatMap((one) => one.groups),
      reports: voices.flatMap((one) => one.reports),
    },
  });
}
