import type { People } from '../../workflows/domain/access-request/eligibility.ts';

/**
 * Somebody with the name by which they are displayed now: that of the directory, else that of their sign-in. Without a name where
 * neither knows one. Names change, so it is kept with what they decide.
 */
export function named<Person extends { readonly subject: string; readonly name?: string }>(
  person: Person,
  people: People,
): Person {
  const { name: signedInAs, ...rest } = person;
  const name = people.find(person.subject)?.displayName ?? signedInAs;
  return { ...rest, ...(name !== undefined && name !== person.subject && { name }) } as Person;
}
