import type { DecidedRequest } from '../../../../workflows/domain/access-request/decided-request.ts';
import type { EvaluationRequest } from '../../../../workflows/domain/authzen/evaluation.ts';
import { type Json, type JsonObject, isObject, objectOf } from '../../../../workflows/domain/canonical-json.ts';
import type { Effect } from '../../../../workflows/domain/tools/tool-facts.ts';
import { ruleSettings } from '../../../shared/config/rule-settings.ts';
import type { ArgumentConditions } from '../../../shared/rules/rules.ts';
import { meetsConditions } from '../../../shared/rules/conditions.ts';
import { exactly, isWritable } from '../../../shared/rules/literal.ts';
import { callOf } from '../../engine/cedar/facts.ts';
import { ArgumentPattern, type Conditions, leavesOf, type WrittenCondition } from './pattern.ts';

/** A call as sets of calls tell it from others. */
interface Call {
  readonly tool: string;
  readonly agent: string;
  readonly subject: string;
  readonly args: JsonObject;
}

/** The call of a request. Undefined if no rule could name it: it is asked about in other words, or no client is known. */
export function callIn({ subject, action, resource, context }: EvaluationRequest): Call | undefined {
  const { agent, arguments: args } = context;
  if (action.name !== 'tools/call' || typeof agent !== 'string' || !isObject(args)) return undefined;
  const { tool } = callOf({ resource, context });
  return typeof tool === 'string' ? { tool, agent, subject: subject.id, args } : undefined;
}

/** An `allow` rule, as its author would write it. */
export interface WrittenRule {
  readonly name: string;
  readonly allow: {
    readonly tool: string;
    readonly effect: Effect;
    readonly caller: { readonly client: string; readonly subject: string | readonly string[] };
    readonly where?: Readonly<Record<string, Json>>;
  };
  readonly insteadOf?: readonly string[];
}

/** Callers that one rule names. A rule for more would be hard to review. */
const MOST_SUBJECTS = 20;

/** Approved calls of one tool by one agent, for one account or for several. */
export class CallSet {
  readonly tool: string;
  readonly effect: Effect;
  readonly agent: string;
  readonly subjects = new Set<string>();
  readonly people = new Set<string>();
  /** When each was approved, in milliseconds since 1970, latest first. */
  readonly approvedAt: number[] = [];
  /** Policies that ask for the approval of these calls. */
  readonly heldBy = new Set<string>();
  suitsGrants = true;
  readonly #pattern = new ArgumentPattern();

  constructor({ tool, agent }: Call, effect: Effect) {
    this.tool = tool;
    this.effect = effect;
    this.agent = agent;
  }

  add({ subject, args }: Call, { people, endedAt, suitsGrants }: DecidedRequest, heldBy: readonly string[]): void {
    this.subjects.add(subject);
    for (const person of people) this.people.add(person);
    for (const policy of heldBy) this.heldBy.add(policy);
    this.approvedAt.push(endedAt);
    this.suitsGrants &&= suitsGrants;
    this.#pattern.add(args);
  }

  /** The narrowest rule that all of its calls match. */
  narrowest({ name, insteadOf, others }: Naming): Proposal {
    const { tool, effect, agent } = this;
    const subjects = [...this.subjects].sort();
    const without = (reason: string): Proposal => ({ set: this, reason, fits: (decided) => this.#has(decided, []) });
    if (subjects.length > MOST_SUBJECTS) return without(`more than ${MOST_SUBJECTS} accounts called it`);
    if (![tool, agent, ...subjects].every(isWritable)) return without('a rule cannot name its tool, agent or account');
    const found = this.#pattern.conditions(others);
    if ('unlimited' in found) return without(`the values of ${found.unlimited} have no folder or host in common`);
    if ('unnamed' in found) return without(`a rule cannot say what the values of ${found.unnamed} have in common`);
    const [one = '', ...more] = subjects.map(exactly);
    const where = Object.fromEntries(Object.entries(found.where).map(([path, test]) => [path, shortest(test)]));
    const caller = { client: exactly(agent), subject: more.length === 0 ? one : [one, ...more] };
    const allow = { tool: exactly(tool), effect, caller, ...(Object.keys(where).length > 0 && { where }) };
    const rule = { name, allow, ...(insteadOf.length > 0 && { insteadOf }) };
    const read = ruleSettings.safeParse(rule);
    const conditions = read.data?.match.where ?? [];
    if (!read.success || conditions.length !== Object.keys(where).length)
      return without('a rule cannot say what its calls have in common');
    return { set: this, rule, free: found.free, fits: (decided) => this.#has(decided, conditions) };
  }

  #has({ request, effect }: DecidedRequest, conditions: readonly ArgumentConditions[]): boolean {
    const call = callIn(request);
    return call !== undefined && this.#isOf(call, effect) && meetsConditions(call.args, conditions);
  }

  #isOf({ tool, agent, subject }: Call, effect: Effect | undefined): boolean {
    return tool === this.tool && effect === this.effect && agent === this.agent && this.subjects.has(subject);
  }
}

interface Naming {
  /** Of the rule. */
  readonly name: string;
  /** The `approve` rules in whose place it stands. */
  readonly insteadOf: readonly string[];
  /** Names of arguments that calls of the tool had. */
  readonly others: ReadonlySet<string>;
}

/** What the history may support: a rule, or the reason why no rule can say it. */
export type Proposal = {
  readonly set: CallSet;
  /** Whether the rule matches the call of a request, as far as rules alone say. Without a rule: whether it is by agent and account of the set. */
  readonly fits: (decided: DecidedRequest) => boolean;
} & (
  | { readonly rule: WrittenRule; readonly free: Conditions['free'] }
  | { readonly rule?: undefined; readonly reason: string }
);

function shortest(condition: WrittenCondition): Json {
  if ('equal' in condition) return condition.equal;
  return 'oneOf' in condition ? condition.oneOf : condition;
}

/** What one policy asked about. */
export interface Held {
  /** Whether each of these calls is of a tool that only reads or writes. */
  isHarmless: boolean;
}

const HARMLESS: readonly (Effect | undefined)[] = ['read', 'write'];

/** Sorts the requests of the history into sets of calls. */
export class Observed {
  /** Sets of one tool, agent and account, and those of one tool and agent. */
  readonly narrow = new Map<string, CallSet>();
  readonly wide = new Map<string, CallSet>();
  /** By the id of the policy. */
  readonly held = new Map<string, Held>();
  /** Names of arguments by tool. */
  readonly argumentsOf = new Map<string, Set<string>>();
  readonly #statedEffect: (tool: string) => Effect | undefined;
  requests = 0;
  /** By people. */
  approved = 0;
  /** The present policies do not ask about them any more. */
  settled = 0;
  /** Approved, of tools that delete, reach outside, or may do so. */
  harmful = 0;

  /** @param statedEffect The operator's word of today about a tool, if there is one. */
  constructor(statedEffect: (tool: string) => Effect | undefined) {
    this.#statedEffect = statedEffect;
  }

  /** @param heldBy The present policies that ask for an approval. Undefined if none does. */
  add(decided: DecidedRequest, heldBy: readonly string[] | undefined): void {
    this.requests += 1;
    if (decided.verdict === 'approved') this.approved += 1;
    const call = callIn(decided.request);
    if (call !== undefined) this.#noteArguments(call);
    if (heldBy === undefined) {
      this.settled += 1;
      return;
    }
    const isHarmless = HARMLESS.includes(decided.effect);
    for (const policy of heldBy) {
      const held = this.held.get(policy) ?? { isHarmless: true };
      held.isHarmless &&= isHarmless;
      this.held.set(policy, held);
    }
    if (decided.verdict === 'approved') this.#collect(decided, call, heldBy);
  }

  #collect(decided: DecidedRequest, call: Call | undefined, heldBy: readonly string[]): void {
    const { effect } = decided;
    const stated = call && this.#statedEffect(call.tool);
    if (effect === undefined || !HARMLESS.includes(effect) || (stated !== undefined && stated !== effect)) {
      this.harmful += 1;
      return;
    }
    if (call === undefined) return;
    const wide = JSON.stringify([call.tool, effect, call.agent]);
    for (const [sets, key] of [
      [this.narrow, JSON.stringify([wide, call.subject])],
      [this.wide, wide],
    ] as const) {
      const set = sets.get(key) ?? new CallSet(call, effect);
      set.add(call, decided, heldBy);
      sets.set(key, set);
    }
  }

  #noteArguments({ tool, args }: Call): void {
    const known = this.argumentsOf.get(tool) ?? new Set();
    for (const { name, isNamed } of leavesOf(objectOf(args))) if (isNamed && known.size < MOST_NAMES) known.add(name);
    this.argumentsOf.set(tool, known);
  }
}

/** Names of arguments that are remembered of one tool. */
const MOST_NAMES = 200;
