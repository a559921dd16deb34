import type { CedarValueJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import type { DirectoryPerson } from '../../shared/directory/directory.ts';
import { entityId, type Known } from './entity-id.ts';
import type { EntityShape } from './schema.ts';

/** AuthZEN type under which the people of the directory come in requests. */
const PERSON_TYPE = 'identity';
const GROUP = 'Group';

/**
 * What the directory says of a person, as far as the schema declares it: `active`, `manager` and `displayName` of `Subject`, and
 * every group as a parent where `Subject` may be `in [Group]`.
 */
export function factsOf(person: DirectoryPerson, subject: EntityShape): Known {
  const { displayName, isActive, manager } = person;
  const facts: Record<string, CedarValueJson | undefined> = {
    active: isActive,
    displayName,
    manager: manager === undefined ? undefined : managerOf(manager, subject),
  };
  const declared = Object.entries(facts).filter(
    (fact): fact is [string, CedarValueJson] => fact[1] !== undefined && subject.attributes.has(fact[0]),
  );
  const groups = subject.memberOf.has(GROUP) ? [...person.groups].sort() : [];
  return {
    uid: aPerson(person.subject),
    attrs: Object.fromEntries(declared),
    parents: groups.map((id) => ({ type: GROUP, id })),
  };
}

const aPerson = (id: string): TypeAndId => ({ type: 'Subject', id: entityId({ type: PERSON_TYPE, id }) });

/** An entity where the schema wants one, so that policies may ask about the manager's own groups; else the subject. */
const managerOf = (manager: string, subject: EntityShape): CedarValueJson =>
  subject.references.has('manager') ? { __entity: aPerson(manager) } : manager;
