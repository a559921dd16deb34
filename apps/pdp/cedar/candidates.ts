import type { TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { parseEntityId } from './entity-id.ts';

/** What searches go through: all that is known by name. Lists are sorted and have nothing twice. */
export interface Candidates {
  /** Ids of the known subjects of an AuthZEN type; none for a type that is not known. */
  subjects(type: string): readonly string[];
  /** Ids of the known resources of an AuthZEN type. */
  resources(type: string): readonly string[];
  /** Names of all actions. */
  readonly actions: readonly string[];
}

/** Candidates among the entities that the PDP has, and the actions of its schema. */
export function candidatesOf(uids: Iterable<TypeAndId>, actions: Iterable<string>): Candidates {
  const ids = { Subject: new Map<string, string[]>(), Resource: new Map<string, string[]>() };
  for (const { type: kind, id: uid } of uids) {
    if (kind !== 'Subject' && kind !== 'Resource') continue;
    const name = parseEntityId(uid);
    if (!name) continue;
    const known = ids[kind].get(name.type);
    if (known) known.push(name.id);
    else ids[kind].set(name.type, [name.id]);
  }
  for (const byType of Object.values(ids)) for (const list of byType.values()) list.sort();
  return {
    subjects: (type) => ids.Subject.get(type) ?? [],
    resources: (type) => ids.Resource.get(type) ?? [],
    actions: [...actions].sort(),
  };
}
