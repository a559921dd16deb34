import type { Logger } from 'pino';
import * as z from 'zod';
import { nameKey } from '../../../workflows/domain/access-request/same-person.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Clock } from '../clock.ts';
import { isTimeZone } from '../config/units.ts';
import { followFile } from '../followed-file.ts';
import { mailAddressOf } from './mail-address.ts';

/** The attribute of a user that tokens and requests have as subject. */
export const SUBJECT_ATTRIBUTES = ['userName', 'externalId', 'id'] as const;
type SubjectAttribute = (typeof SUBJECT_ATTRIBUTES)[number];

export interface DirectoryPerson {
  /** Stable identifier: `sub` of a token, and `subject.id` of a request. */
  readonly subject: string;
  readonly displayName?: string;
  /** An inactive person can neither decide nor be asked to. */
  readonly isActive: boolean;
  /** Subject of the manager. */
  readonly manager?: string;
  /** Names of all groups of the person, also through other groups. */
  readonly groups: ReadonlySet<string>;
  /** Roles, as the sign-in names them, for channels without a sign-in. */
  readonly roles: readonly string[];
  /** Address for messages, with its domain in ASCII. */
  readonly email?: string;
  /** Whether the directory has addresses of the person, but no mail can be sent to them. */
  readonly hasUnusableEmail?: true;
  /** Id of the person in Slack. */
  readonly slackId?: string;
  /** IANA time zone. */
  readonly timeZone?: string;
}

/** People and groups of the deployment's own directory. No part of it comes from a request. */
export interface Directory {
  find(subject: string): DirectoryPerson | undefined;
  /**
   * The other names of all people who have one of these: the directory knows each by up to three, and a token may have another of them as
   * its subject. A name that two people have is that of the one whose subject it is.
   */
  otherNamesOf(names: readonly string[]): readonly string[];
  /** Subjects of the people in a group, also through other groups; empty for an unknown group. */
  membersOf(group: string): ReadonlySet<string>;
  /** Subjects of the people with this manager. */
  reportsOf(manager: string): ReadonlySet<string>;
  readonly people: readonly DirectoryPerson[];
  readonly groups: ReadonlySet<string>;
}

export const ENTERPRISE_USER = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

const reference = z.looseObject({ value: z.string().min(1) });
const user = z.looseObject({
  id: z.string().min(1),
  userName: z.string().min(1),
  externalId: z.string().min(1).optional(),
  displayName: z.string().optional(),
  active: z.boolean().default(true),
  roles: z.array(reference).default([]),
  emails: z.array(z.looseObject({ value: z.string().optional(), primary: z.boolean().optional() })).default([]),
  ims: z.array(z.looseObject({ value: z.string().optional(), type: z.string().optional() })).default([]),
  timezone: z.string().optional(),
  [ENTERPRISE_USER]: z.looseObject({ manager: reference.optional() }).optional(),
});
const group = z.looseObject({
  id: z.string().min(1),
  displayName: z.string().min(1),
  members: z.array(reference).default([]),
});
const listSchema = z.looseObject({ Resources: z.array(z.looseObject({ schemas: z.array(z.string()).min(1) })) });

type User = z.infer<typeof user>;
type Group = z.infer<typeof group>;

export const EMPTY_DIRECTORY = readDirectory('{"Resources":[]}', 'id');

/**
 * Reads a SCIM list of users and groups. Members and managers refer to `id`. Throws `ERR_CONFIG_INVALID` for another format, for a
 * repeated subject or group name, and for a reference to a missing person or group: half a directory would silently remove approvers and
 * vetoes.
 * @see RFC 7643, sections 4.1 to 4.3; RFC 7644, section 3.4.2
 */
export function readDirectory(text: string, subjectAttribute: SubjectAttribute): Directory {
  const { users, groups } = parse(text);
  const subjects = new Map(users.map((one) => [one.id, subjectOf(one, subjectAttribute)]));
  refuseDoubles(users.map(({ id }) => id).concat(groups.map(({ id }) => id)), 'id');
  refuseDoubles([...subjects.values()], subjectAttribute);
  const names = groups.map(({ displayName }) => displayName);
  refuseDoubles(names, 'displayName of a group');
  const parents = parentsOf(groups, new Set([...subjects.keys(), ...groups.map(({ id }) => id)]));
  const people = users.map((one) => person(one, { subjects, groupsOf: (id) => namesAbove(id, parents) }));
  const bySubject = new Map(people.map((one) => [one.subject, one]));
  const members = new Map(names.map((name) => [name, new Set<string>()]));
  for (const { subject, groups: own } of people) for (const name of own) members.get(name)?.add(subject);
  const reports = new Map<string, Set<string>>();
  for (const { subject, manager } of people) {
    if (manager !== undefined) reports.set(manager, (reports.get(manager) ?? new Set()).add(subject));
  }
  return {
    find: (subject) => bySubject.get(subject),
    otherNamesOf: namesOf(users, subjects),
    membersOf: (name) => members.get(name) ?? new Set(),
    reportsOf: (manager) => reports.get(manager) ?? new Set(),
    people,
    groups: new Set(names),
  };
}

function namesOf(users: readonly User[], subjects: ReadonlyMap<string, string>): Directory['otherNamesOf'] {
  const owners = new Map<string, Set<string>>();
  const own = (name: string, id: string) => owners.set(nameKey(name), (owners.get(nameKey(name)) ?? new Set()).add(id));
  for (const { id, userName, externalId = id } of users) for (const name of [id, userName, externalId]) own(name, id);
  for (const [id, subject] of subjects) owners.set(nameKey(subject), new Set([id]));
  const isTheirs = (name: string, id: string) => {
    const all = owners.get(nameKey(name));
    return all?.size === 1 && all.has(id);
  };
  const byId = new Map(
    users.map(({ id, userName, externalId = id }) => [
      id,
      [id, userName, externalId].filter((one) => isTheirs(one, id)),
    ]),
  );
  return (names) => {
    const found = names.flatMap((name) => [...(owners.get(nameKey(name)) ?? [])].filter((id) => isTheirs(name, id)));
    return [...new Set(found)].flatMap((id) => byId.get(id) ?? []).filter((name) => !names.includes(name));
  };
}

function parse(text: string): { users: User[]; groups: Group[] } {
  try {
    const { Resources: resources } = listSchema.parse(JSON.parse(text));
    const kind = (name: string) =>
      resources.filter(({ schemas }) => schemas.includes(`urn:ietf:params:scim:schemas:core:2.0:${name}`));
    return { users: z.array(user).parse(kind('User')), groups: z.array(group).parse(kind('Group')) };
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : 'it is not JSON';
    throw invalid(`${why}. Export users and groups as a SCIM list ({ "Resources": [...] }).`, cause);
  }
}

function subjectOf(one: User, attribute: SubjectAttribute): string {
  const subject = one[attribute];
  if (subject === undefined) throw invalid(`the user with the id ${one.id} has no ${attribute}`);
  return subject;
}

function refuseDoubles(values: readonly string[], what: string): void {
  const seen = new Set<string>();
  for (const value of values) {
    if (seen.has(value)) throw invalid(`${JSON.stringify(value)} occurs twice as ${what}`);
    seen.add(value);
  }
}

/** The groups that each user and each group is a member of. */
function parentsOf(groups: readonly Group[], known: ReadonlySet<string>): ReadonlyMap<string, readonly Group[]> {
  const parents = new Map<string, Group[]>();
  for (const one of groups) {
    for (const { value } of one.members) {
      if (!known.has(value)) throw invalid(`${one.displayName} has a member ${value} that is missing from the list`);
      parents.set(value, [...(parents.get(value) ?? []), one]);
    }
  }
  return parents;
}

/** Groups may contain each other. */
function namesAbove(id: string, parents: ReadonlyMap<string, readonly Group[]>, seen = new Set<string>()): Set<string> {
  for (const parent of parents.get(id) ?? []) {
    if (seen.has(parent.displayName)) continue;
    seen.add(parent.displayName);
    namesAbove(parent.id, parents, seen);
  }
  return seen;
}

function person(
  one: User,
  { subjects, groupsOf }: { subjects: ReadonlyMap<string, string>; groupsOf: (id: string) => Set<string> },
): DirectoryPerson {
  const managerId = one[ENTERPRISE_USER]?.manager?.value;
  const manager = managerId === undefined ? undefined : subjects.get(managerId);
  if (managerId !== undefined && manager === undefined)
    throw invalid(`the manager ${managerId} of ${one.userName} is missing from the list`);
  return {
    subject: subjects.get(one.id) ?? one.id,
    ...(one.displayName !== undefined && { displayName: one.displayName }),
    isActive: one.active,
    ...(manager !== undefined && { manager }),
    groups: groupsOf(one.id),
    roles: one.roles.map(({ value }) => value),
    ...reachOf(one),
  };
}

/** Values that cannot be used are left out: they only keep messages from a person, and no decision rests on them. */
function reachOf({
  emails,
  ims,
  timezone,
}: User): Pick<DirectoryPerson, 'email' | 'hasUnusableEmail' | 'slackId' | 'timeZone'> {
  const usable = emails.filter(({ value }) => mailAddressOf(value) !== undefined);
  const email = mailAddressOf((usable.find(({ primary }) => primary) ?? usable[0])?.value);
  const hasUnusableEmail = email === undefined && emails.some(({ value }) => value !== undefined && value !== '');
  const slackId = ims.find(({ type }) => type?.toLowerCase() === 'slack')?.value;
  return {
    ...(email !== undefined && { email }),
    ...(hasUnusableEmail && { hasUnusableEmail }),
    ...(slackId && { slackId }),
    ...(timezone !== undefined && isTimeZone(timezone) && { timeZone: timezone }),
  };
}

function invalid(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_CONFIG_INVALID', `directory: ${message}`, { cause });
}

export interface DirectorySettings {
  /** Absolute path of a SCIM list. Without it, groups have no members. */
  readonly file?: string | undefined;
  readonly subjectAttribute: SubjectAttribute;
}

/** Returns the current directory. After a broken edit, the last valid one stays in force, and the log says so once. */
export type DirectorySource = () => Directory;

/** Throws `ERR_CONFIG_INVALID` when the file is invalid at the start. */
export function openDirectory(
  { file, subjectAttribute }: DirectorySettings,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
): DirectorySource {
  if (file === undefined) return () => EMPTY_DIRECTORY;
  return followFile({
    file,
    setting: 'directory',
    clock,
    parse: (text) => readDirectory(text, subjectAttribute),
    onChange: ({ people, groups }) =>
      log.info({ people: people.length, groups: groups.size }, 'the directory was read again'),
    onFault: (err) =>
      log.error({ err, alarm: 'directory_invalid' }, 'the directory cannot be read; the last valid one stays in force'),
  });
}
