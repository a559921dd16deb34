import type { EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { ActionSchema } from './action-schema.ts';
import type { OwnEntities } from './entities.ts';
import type { ActionShape } from './schema.ts';
import type { Policies, Policy } from './policies.ts';
import type { Slot } from './slot.ts';
import type { Steps } from './steps.ts';

/** Parsing takes a tenth of a millisecond for each, and nothing else is done meanwhile. */
const POLICIES_PER_SET = 250;

/** The policies that can match requests of one action, in sets that Cedar has parsed. */
export interface Slice {
  /** Name of the schema without other actions. */
  readonly schemaName: string;
  readonly policies: readonly Policy[];
  /** What is known of the entities that some of them name and look into, and of those behind them. */
  readonly named: readonly EntityJson[];
  /**
   * Names of the sets in which every policy is that can match a request with this principal and this resource. Never
   * empty. What it leaves out has another principal or resource behind `==` in its scope: that is false before anything else
   * of the policy is looked at, so it can neither apply nor fail.
   */
  setsFor(principal: string, resource: string): readonly string[];
}

/** Evaluation time grows with the number of policies and of declared actions, so few should be looked at for each request. */
export function* slicesOf(
  actions: Iterable<ActionShape>,
  policies: Policies,
  {
    slot,
    schemaOf,
    entities,
  }: { readonly slot: Slot; readonly schemaOf: ActionSchema; readonly entities: OwnEntities },
): Steps<ReadonlyMap<string, Slice>> {
  const slices = new Map<string, Slice>();
  const byAction = policiesByAction(policies);
  for (const action of actions) {
    const own = [ANY_ACTION, ...action.groups].flatMap((name) => byAction.get(name) ?? []);
    const inOrder = [...new Set(own)].sort((a, b) => (a.id < b.id ? -1 : 1));
    const schemaName = slot.keepSchema(schemaOf(action.groups));
    const named = entities.from(inOrder.flatMap((policy) => policy.named));
    slices.set(action.name, { schemaName, named, ...(yield* sliceOf(inOrder, slot)) });
  }
  return slices;
}

/** Under this are policies whose scope names no action. */
const ANY_ACTION = undefined;

function policiesByAction(policies: Policies): ReadonlyMap<string | undefined, readonly Policy[]> {
  const byAction = new Map<string | undefined, Policy[]>();
  for (const policy of policies.values())
    for (const name of policy.actions ?? [ANY_ACTION]) {
      const known = byAction.get(name);
      if (known) known.push(policy);
      else byAction.set(name, [policy]);
    }
  return byAction;
}

function* sliceOf(policies: readonly Policy[], slot: Slot): Steps<Omit<Slice, 'schemaName' | 'named'>> {
  const forAnyResource = policies.filter(({ resource }) => resource === undefined);
  const general = yield* setsOf(
    forAnyResource.filter(({ principal }) => principal === undefined),
    slot,
  );
  const ofResource = yield* setsByName(groupBy(policies, 'resource'), slot);
  const ofPrincipal = yield* setsByName(groupBy(forAnyResource, 'principal'), slot);
  return {
    policies,
    setsFor: (principal, resource) => [
      ...general,
      ...(ofResource.get(resource) ?? []),
      ...(ofPrincipal.get(principal) ?? []),
    ],
  };
}

/** Policies by what they demand behind `==`; those that demand nothing are left out. */
function groupBy(policies: readonly Policy[], part: 'principal' | 'resource'): ReadonlyMap<string, readonly Policy[]> {
  const groups = new Map<string, Policy[]>();
  for (const policy of policies) {
    const name = policy[part];
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group) group.push(policy);
    else groups.set(name, [policy]);
  }
  return groups;
}

function* setsByName(
  groups: ReadonlyMap<string, readonly Policy[]>,
  slot: Slot,
): Steps<ReadonlyMap<string, readonly string[]>> {
  const sets = new Map<string, readonly string[]>();
  for (const [name, policies] of groups) sets.set(name, yield* setsOf(policies, slot));
  return sets;
}

/** At least one set, be it empty: a request is held against the schema when the first is evaluated. */
function* setsOf(policies: readonly Policy[], slot: Slot): Steps<string[]> {
  const names: string[] = [];
  let first = 0;
  do {
    names.push(slot.keepPolicies(policies.slice(first, first + POLICIES_PER_SET)));
    first += POLICIES_PER_SET;
    yield;
  } while (first < policies.length);
  return names;
}
