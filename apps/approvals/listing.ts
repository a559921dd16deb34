import { ACCESS_REQUEST_STATUSES } from '../../workflows/domain/access-request/access-request.ts';
import { OVERSEER_ROLE, type Reader, voicesOf } from '../../workflows/domain/access-request/eligibility.ts';
import type { Directory } from '../shared/directory/directory.ts';

/** Filters of a list: a status, all ended requests, or those that the reader may decide now. */
export const LIST_CHOICES = [...ACCESS_REQUEST_STATUSES, 'ended', 'yours'] as const;
export type ListChoice = (typeof LIST_CHOICES)[number];

/** A reader for the database: a JSON object as text, the first parameter of a statement. */
export type ReaderRow = string;

/** The database has no directory, so the statement carries the facts about its reader. */
export function readerRow(
  reader: Reader & { readonly chain: readonly string[]; readonly actors: readonly string[] },
  people: Directory,
): ReaderRow {
  const { self, isPerson, mayBreakGlass, chain, actors } = reader;
  const isThere = (subject: string) => people.find(subject)?.isActive !== false;
  const persons = [self.subject, ...chain];
  const voices = voicesOf(reader, people).map(({ subject, roles }) => ({
    subject,
    roles,
    groups: [...(people.find(subject)?.groups ?? [])],
    reports: [...people.reportsOf(subject)],
  }));
  return JSON.stringify({
    subject: self.subject,
    persons,
    actors,
    reads: isThere(self.subject),
    decides: persons.every(isThere),
    oversees: isPerson && self.roles.includes(OVERSEER_ROLE),
    is_person: isPerson,
    breaks_glass: isPerson && mayBreakGlass,
    voices,
    all: {
      subjects: voices.map(({ subject }) => subject),
      roles: voices.flatMap((one) => one.roles),
      groups: voices.flatMap((one) => one.groups),
      reports: voices.flatMap((one) => one.reports),
    },
  });
}
