import { setImmediate } from 'node:timers/promises';
import {
  preparsePolicySet,
  preparseSchema,
  type CheckParseAnswer,
  type EntityJson,
  type Schema,
} from '@cedar-policy/cedar-wasm/nodejs';
import type { OwnEntities } from './entities.ts';
import { groupBy, portions } from './lists.ts';
import type { Policies, Policy } from './policies.ts';
import type { ActionSchema, ActionShape } from './schema.ts';

/** Parsing takes a tenth of a millisecond for each, and the process does nothing else meanwhile. */
const POLICIES_PER_SET = 250;

/** The policies that can match requests of one action, in sets that Cedar has parsed. */
export interface Slice {
  /** Name of the schema without other actions. */
  readonly schemaName: string;
  readonly policies: readonly Policy[];
  /** The known ones of the entities that policies name and look into, and those reachable from them. */
  readonly named: readonly EntityJson[];
  /**
   * Names of the sets that together have every policy that can match a request with this principal and this resource. Never
   * empty. A policy outside of them has another principal or resource behind `==` in its scope. Cedar looks at the scope
   * first, so such a policy can neither apply nor fail.
   */
  setsFor(principal: string, resource: string): readonly string[];
}

/** Evaluation time grows with the number of policies and of declared actions, so each request is evaluated against few. */
export async function slicesOf(
  actions: Iterable<ActionShape>,
  policies: Policies,
  { slot, schemaOf, entities }: { slot: CedarSlot; schemaOf: ActionSchema; entities: OwnEntities },
): Promise<ReadonlyMap<string, Slice>> {
  const slices = new Map<string, Slice>();
  const byAction = groupBy<Policy, string | symbol>(policies.values(), ({ actions: names }) => names ?? [ANY_ACTION]);
  for (const action of actions) {
    const own = [ANY_ACTION, ...action.groups].flatMap((name) => byAction.get(name) ?? []);
    const inOrder = [...new Set(own)].sort((a, b) => (a.id < b.id ? -1 : 1));
    const schemaName = slot.keepSchema(schemaOf(action.groups));
    const named = entities.from(inOrder.flatMap((policy) => policy.named));
    slices.set(action.name, { schemaName, policies: inOrder, named, setsFor: await setsFor(inOrder, slot) });
  }
  return slices;
}

/** Key of the policies whose scope names no action. */
const ANY_ACTION = Symbol('any action');

async function setsFor(policies: readonly Policy[], slot: CedarSlot): Promise<Slice['setsFor']> {
  const setsBy = async (part: 'principal' | 'resource', some: readonly Policy[]) => {
    const sets = new Map<string, readonly string[]>();
    for (const [id, group] of groupBy(some, (policy) => [policy[part] ?? []].flat()))
      sets.set(id, await setsOf(group, slot));
    return sets;
  };
  const forAnyResource = policies.filter(({ resource }) => resource === undefined);
  const forAnyRequest = forAnyResource.filter(({ principal }) => principal === undefined);
  const general = await setsOf(forAnyRequest, slot);
  const ofResource = await setsBy('resource', policies);
  const ofPrincipal = await setsBy('principal', forAnyResource);
  return (principal, resource) => [
    ...general,
    ...(ofResource.get(resource) ?? []),
    ...(ofPrincipal.get(principal) ?? []),
  ];
}

/** At least one set, even if it is empty: Cedar checks a request against the schema when it evaluates the first. */
async function setsOf(policies: readonly Policy[], slot: CedarSlot): Promise<string[]> {
  const names: string[] = [];
  for (const some of policies.length === 0 ? [policies] : portions(policies, POLICIES_PER_SET)) {
    names.push(slot.keepPolicies(some));
    await setImmediate();
  }
  return names;
}

/**
 * Names in Cedar's memory for one version of the policies. Cedar keeps what it parsed by name, for the whole process, and
 * never frees it. A name that is used again replaces its content. So names are reused, which bounds Cedar's memory by the
 * versions in use and one more.
 */
export type CedarSlot = ReturnType<typeof takeSlot>;

const released: number[] = [];
let taken = 0;

export function takeSlot() {
  const number = released.pop() ?? taken++;
  let schemas = 0;
  /** Names of the sets, by the ids of their policies: many actions have the same policies. */
  const sets = new Map<string, string>();
  return {
    /** Parses a schema that requests are checked against. Returns its name. */
    keepSchema(schema: Schema): string {
      const name = `slot ${number} schema ${schemas++}`;
      mustParse(preparseSchema(name, schema));
      return name;
    },
    /** Parses policies, the same ones once. Returns the name of their set. */
    keepPolicies(policies: readonly Policy[]): string {
      const ids = JSON.stringify(policies.map(({ id }) => id));
      const known = sets.get(ids);
      if (known !== undefined) return known;
      const name = `slot ${number} set ${sets.size}`;
      const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
      mustParse(preparsePolicySet(name, { staticPolicies }));
      sets.set(ids, name);
      return name;
    },
    /** Lets the next version use the names: nothing of this slot may be evaluated any more. May be called once. */
    release: () => void released.push(number),
  };
}

/** Schema and policies were parsed and validated before. */
function mustParse(answer: CheckParseAnswer): void {
  if (answer.type === 'success') return;
  throw new Error(`Cedar refuses what it accepted before: ${answer.errors.map(({ message }) => message).join('; ')}`);
}
