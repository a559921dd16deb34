import type { Logger } from 'pino';
import * as z from 'zod';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Clock } from '../clock.ts';
import { followFile } from '../followed-file.ts';

/** Which attribute of a user is the subject that tokens and requests name. */
export const SUBJECT_ATTRIBUTES = ['userName', 'externalId', 'id'] as const;
type SubjectAttribute = (typeof SUBJECT_ATTRIBUTES)[number];

export interface DirectoryPerson {
  /** Stable identifier: what `sub` says in a token, and `subject.id` in a request. */
  readonly subject: string;
  readonly displayName?: string;
  /** Whoever is not active decides nothing and is asked for nothing. */
  readonly isActive: boolean;
  /** Subject of the manager. */
  readonly manager?: string;
  /** Names of every group the person is in, by way of other groups too. */
  readonly groups: ReadonlySet<string>;
  /** Roles, in the words of the sign-in. For doors at which nobody signs in. */
  readonly roles: readonly string[];
}

/** People and groups as the deployment's own directory has them. Nothing in it comes from a request. */
export interface Directory {
  find(subject: string): DirectoryPerson | undefined;
  /** Subjects of the people in a group, by way of other groups too; empty for a group that does not exist. */
  membersOf(group: string): ReadonlySet<string>;
  /** Subjects of the people whose manager this person is. */
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

export const EMPTY_DIRECTORY: Directory = {
  find: () => undefined,
  membersOf: () => new Set(),
  reportsOf: () => new Set(),
  people: [],
  groups: new Set(),
};

/**
 * Reads an export in the form in which SCIM lists users and groups. Members and managers refer to `id`. Throws
 * `ERR_CONFIG_INVALID` when it is none, when a subject or a group name is there twice, and when it refers to somebody who is
 * not in it: half a directory would take approvers and vetoes away without anybody's noticing.
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
    membersOf: (name) => members.get(name) ?? new Set(),
    reportsOf: (manager) => reports.get(manager) ?? new Set(),
    people,
    groups: new Set(names),
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
    if (seen.has(value)) throw invalid(`${JSON.stringify(value)} is there twice as ${what}`);
    seen.add(value);
  }
}

/** The groups that each user and each group is a member of. */
function parentsOf(groups: readonly Group[], known: ReadonlySet<string>): ReadonlyMap<string, readonly Group[]> {
  const parents = new Map<string, Group[]>();
  for (const one of groups) {
    for (const { value } of one.members) {
      if (!known.has(value)) throw invalid(`${one.displayName} has a member ${value} that is not there`);
      parents.set(value, [...(parents.get(value) ?? []), one]);
    }
  }
  return parents;
}

/** Groups may be in each other. */
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
    throw invalid(`the manager ${managerId} of ${one.userName} is not there`);
  return {
    subject: subjects.get(one.id) ?? one.id,
    ...(one.displayName !== undefined && { displayName: one.displayName }),
    isActive: one.active,
    ...(manager !== undefined && { manager }),
    groups: groupsOf(one.id),
    roles: one.roles.map(({ value }) => value),
  };
}

function invalid(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_CONFIG_INVALID', `directory: ${message}`, { cause });
}

export interface DirectorySettings {
  /** Absolute path of a SCIM list; without it nobody is in any group. */
  readonly file?: string | undefined;
  readonly subjectAttribute: SubjectAttribute;
}

/** The directory as it is now. A broken edit leaves the last good one in force, and says so once. */
export type DirectorySource = () => Directory;

/** Throws `ERR_CONFIG_INVALID` when the file cannot be used at the start. */
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
      log.info({ people: people.length, groups: groups.size }, 'the directory was read anew'),
    onFault: (err) =>
      log.error({ err, alarm: 'directory_invalid' }, 'the directory cannot be read; the one before stays in force'),
  });
}
