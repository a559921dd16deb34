import type { DecidedRequest } from '../../../../workflows/domain/access-request/decided-request.ts';
import type { Effect } from '../../../../workflows/domain/tools/tool-facts.ts';
import { ruleIndex } from '../../../shared/rules/rules.ts';
import type { PolicyPlaces } from '../../engine/cedar/policy-folder.ts';
import { type CedarVersion, loadCurrent } from '../../engine/cedar/version.ts';
import { type CallSet, Observed, type Proposal, type WrittenRule } from './sets.ts';

/** The bounds that are proposed for grants. */
const GRANTABLE = { minutes: 30, uses: 10 } as const;
const PROGRESS_EVERY = 1_000;

export interface Suggesting {
  /** The requests of the history. Each call reads the same ones. */
  readonly history: () => AsyncIterable<DecidedRequest>;
  readonly present: PolicyPlaces;
  /** The places as they would be with these rules after those of the operator. Throws `ERR_CONFIG_INVALID`. */
  readonly placesWith: (rules: readonly WrittenRule[]) => PolicyPlaces;
  /** The operator's word of today about a tool, if there is one. */
  readonly statedEffect: (tool: string) => Effect | undefined;
  /** Names that no proposed rule may have. */
  readonly namesTaken: readonly string[];
  readonly minApprovals: number;
  readonly minPeople: number;
  /** Called now and then: which of its steps goes on, and how many requests it has read. */
  readonly onProgress: (step: 'reading' | 'replaying', requests: number) => void;
}

/** Calls that people approved again and again. */
interface Repeated {
  readonly tool: string;
  readonly agent: string;
  readonly subjects: readonly string[];
  readonly approvals: number;
  /** How many people approved them. */
  readonly people: number;
}

/** An `allow` rule, with what the replay found. */
export interface SuggestedRule extends Repeated {
  readonly rule: WrittenRule;
  /** Arguments that the rule leaves free. */
  readonly free: readonly string[];
  /** Requests that would have passed without an approver. */
  readonly passed: number;
  /** Those of them that were denied, expired or cancelled. Always 0: a rule with more is not proposed. */
  readonly refused: 0;
}

/** An `approve` rule on which grants would help. */
export interface SuggestedGrants {
  /** The name of the rule, and its index in `rules`. */
  readonly name: string;
  readonly index: number;
  readonly grantable: typeof GRANTABLE;
  /** What it asked about again and again. */
  readonly calls: readonly (Repeated & {
    /** Approvals that grants with these bounds could have taken the place of. */
    readonly spared: number;
  })[];
}

/** Calls that were approved often, with the reason why nothing is proposed for them. */
export type LeftOut = Repeated & { readonly reason: string };

export type Suggestions = Awaited<ReturnType<typeof suggestRules>>;

/**
 * Proposes the narrowest rules that would have let repeatedly approved calls pass, and grants where no rule can. Each proposal is tried:
 * the policy engine decides every request of the history again, and a rule by which a request passes that was not approved is dropped.
 * Throws `ERR_CONFIG_INVALID` if the policies cannot be used.
 */
export async function suggestRules(of: Suggesting) {
  const present = await loadCurrent(of.present);
  try {
    const observed = await observe(of, present);
    const proposals = enoughOf(observed, of).map((set, index) =>
      set.narrowest({
        name: nameOf(set, index, of.namesTaken),
        insteadOf: [...set.heldBy].filter((id) => indexOf(present, id) !== undefined).sort(),
        others: observed.argumentsOf.get(set.tool) ?? new Set(),
      }),
    );
    const leftOut: LeftOut[] = [];
    const rules: SuggestedRule[] = [];
    const grants = new Map<string, SuggestedGrants>();
    for (const { proposal, passed, refused } of await tryAll(of, present, proposals)) {
      const { set, rule } = proposal;
      const leaveOut = (reason: string) => leftOut.push({ ...repeated(set), reason });
      if (refused > 0) leaveOut(refusedReason(refused));
      else if (rule !== undefined && passed >= of.minApprovals)
        rules.push({ ...repeated(set), rule, free: proposal.free, passed, refused: 0 });
      else {
        const reason = addGrants(grants, set, { present, observed, places: of.present });
        if (reason !== undefined) leaveOut(rule === undefined ? `${proposal.reason}, and ${reason}` : reason);
      }
    }
    const { requests, approved, settled, harmful } = observed;
    return {
      counts: { requests, approved, settled, harmful },
      policies: present.id,
      rules,
      grants: [...grants.values()],
      leftOut,
    };
  } finally {
    present.evaluator.release();
  }
}

/** The place of a policy in `rules`. Undefined if it is of a file of policies. */
const indexOf = ({ evaluator }: CedarVersion, id: string) => ruleIndex(evaluator.policies.get(id)?.file ?? '');

const refusedReason = (refused: number) =>
  `${refused} ${refused === 1 ? 'request' : 'requests'} like these ${refused === 1 ? 'was' : 'were'} denied, expired or cancelled, ` +
  'and no rule can tell them apart';

async function observe({ history, statedEffect, onProgress }: Suggesting, present: CedarVersion): Promise<Observed> {
  const observed = new Observed(statedEffect);
  for await (const decided of history()) {
    const answer = await present.answer(decided.request, undefined, decided.endedAt);
    observed.add(decided, answer.kind === 'requestable' ? answer.policies : undefined);
    if (observed.requests % PROGRESS_EVERY === 0) onProgress('reading', observed.requests);
  }
  return observed;
}

/** The sets that enough people approved often enough. Several accounts share a rule only if no account has enough approvals alone. */
function enoughOf({ narrow, wide }: Observed, { minApprovals, minPeople }: Suggesting): CallSet[] {
  const isEnough = ({ approvedAt, people }: CallSet) => approvedAt.length >= minApprovals && people.size >= minPeople;
  const alone = [...narrow.values()].filter(isEnough);
  const shared = [...wide.values()].filter(
    (set) => isEnough(set) && !alone.some(({ tool, effect, agent }) => isSame({ tool, effect, agent }, set)),
  );
  return [...alone, ...shared].sort((a, b) => b.approvedAt.length - a.approvedAt.length);
}

const isSame = (a: Pick<CallSet, 'tool' | 'effect' | 'agent'>, b: CallSet) =>
  a.tool === b.tool && a.effect === b.effect && a.agent === b.agent;

/** A name that no rule has yet. */
function nameOf({ tool }: CallSet, index: number, taken: readonly string[]): string {
  const base = `suggested ${index + 1}: ${tool.replaceAll(' + ', ' and ')}`.slice(0, 70).toWellFormed();
  let name = base;
  for (let number = 2; taken.includes(name); number += 1) name = `${base} ${number}`;
  return name;
}

const repeated = ({ tool, agent, subjects, approvedAt, people }: CallSet): Repeated => ({
  ...{ tool, agent, subjects: [...subjects].sort() },
  ...{ approvals: approvedAt.length, people: people.size },
});

interface Tried {
  readonly proposal: Proposal;
  passed: number;
  /** Requests that were not approved, and that would have passed or fit the rule. */
  refused: number;
}

/**
 * Has the policy engine decide every request again, by the operator's rules and the proposed ones after them. Repeats that without the rules
 * that let a request pass which was not approved, until no rule does.
 */
async function tryAll(of: Suggesting, present: CedarVersion, proposals: readonly Proposal[]): Promise<Tried[]> {
  const dropped: Tried[] = [];
  let left = proposals;
  for (;;) {
    if (left.length === 0) return dropped;
    const tried = await tryOnce(of, present, left);
    const wrong = tried.filter(({ refused }) => refused > 0);
    if (wrong.length === 0) return [...tried, ...dropped];
    dropped.push(...wrong);
    left = tried.filter((one) => !wrong.includes(one)).map(({ proposal }) => proposal);
  }
}

async function tryOnce(
  { history, placesWith, onProgress }: Suggesting,
  present: CedarVersion,
  proposals: readonly Proposal[],
): Promise<Tried[]> {
  const tried = proposals.map((proposal) => ({ proposal, passed: 0, refused: 0 }));
  const candidate = await loadCurrent(placesWith(proposals.flatMap(({ rule }) => rule ?? [])));
  let requests = 0;
  try {
    for await (const decided of history()) {
      requests += 1;
      if (requests % PROGRESS_EVERY === 0) onProgress('replaying', requests);
      const isRefused = decided.verdict === 'refused';
      const after = await candidate.answer(decided.request, undefined, decided.endedAt);
      const passes =
        after.kind === 'permit' &&
        (await present.answer(decided.request, undefined, decided.endedAt)).kind !== 'permit';
      for (const one of tried) {
        // The rules together let it pass. Each that Cedar names has a part in that. If it names no proposed rule, all have.
        const has = passes && hasPart(one.proposal, after.policies, proposals);
        if (has) one.passed += 1;
        if (isRefused && (has || one.proposal.fits(decided))) one.refused += 1;
      }
    }
  } finally {
    candidate.evaluator.release();
  }
  return tried;
}

function hasPart({ rule }: Proposal, policies: readonly string[], all: readonly Proposal[]): boolean {
  if (rule === undefined) return false;
  return policies.includes(rule.name) || !all.some((other) => other.rule && policies.includes(other.rule.name));
}

interface Around {
  readonly present: CedarVersion;
  readonly observed: Observed;
  readonly places: PolicyPlaces;
}

/** Proposes grants on the rules that ask about the calls of a set. Answers the reason instead if that would be of no use or not safe. */
function addGrants(
  grants: Map<string, SuggestedGrants>,
  set: CallSet,
  { present, observed, places }: Around,
): string | undefined {
  const holders = [...set.heldBy].map((id) => ({ id, index: indexOf(present, id) }));
  if (holders.some(({ index }) => index === undefined)) return 'a policy outside rules asks for the approval';
  if (!set.suitsGrants) return 'a grant cannot take the place of the approval that its rule asks for';
  if (!holders.every(({ id }) => observed.held.get(id)?.isHarmless === true))
    return 'its rule also asks about tools that delete or reach outside';
  const open = holders.flatMap(({ id, index }) => {
    const rule = index === undefined ? undefined : places.rules?.all[index];
    return rule === undefined || rule.grantable !== undefined ? [] : [{ id, index: index ?? 0 }];
  });
  if (open.length === 0) return 'its rule already lets approvers give grants';
  for (const { id, index } of open) {
    const before = grants.get(id) ?? { name: id, index, grantable: GRANTABLE, calls: [] };
    grants.set(id, { ...before, calls: [...before.calls, { ...repeated(set), spared: sparedOf(set) }] });
  }
  return undefined;
}

/** Approvals that would not have been needed if each person had given the greatest grant as soon as no earlier one was in force. */
function sparedOf({ approvedAt }: CallSet): number {
  let [spared, since, used] = [0, -Infinity, 0];
  for (const at of [...approvedAt].sort((a, b) => a - b)) {
    if (at - since <= GRANTABLE.minutes * 60_000 && used < GRANTABLE.uses) {
      spared += 1;
      used += 1;
    } else [since, used] = [at, 0];
  }
  return spared;
}
