import { isDeepStrictEqual } from 'node:util';
import { loadVersion, readPolicyTexts, type PolicyPlaces, type PolicyVersion } from '../versions/version.ts';
import { outcomeOf, type Outcome } from './outcome.ts';
import { recordedCalls, type RecordedCall } from './recorded-calls.ts';

/** A call that the candidate policies decide otherwise than the present ones. */
export interface ChangedCall {
  readonly name: string;
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly before: Outcome;
  readonly after: Outcome;
}

export interface ReplayCounts {
  readonly calls: number;
  readonly changed: number;
  /** How many calls went from one outcome to another, by `permit → deny`. */
  readonly changes: Readonly<Record<string, number>>;
  /** Places without a request that could be read, of which `firstUnreadable` says more. */
  readonly unreadable: number;
  readonly firstUnreadable: string | undefined;
  readonly present: string;
  readonly candidate: string;
}

export interface Replay {
  readonly file: string;
  readonly present: PolicyPlaces;
  readonly candidate: PolicyPlaces;
  /** Told of every changed call as soon as it is found. */
  readonly onChange: (changed: ChangedCall) => void;
  /** Told how many calls were replayed, now and then. */
  readonly onProgress: (calls: number) => void;
}

const PROGRESS_EVERY = 10_000;

/**
 * Puts recorded calls to two sets of policies. What counts is what a caller would notice: the outcome, its reason, the
 * approval that is asked for, and what is demanded of the enforcement point. Throws `ERR_CONFIG_INVALID` when policies or the file cannot be used.
 */
export async function replayCalls({ file, present, candidate, onChange, onProgress }: Replay): Promise<ReplayCounts> {
  const [before, after] = [await load(present), await load(candidate)];
  const changes: Record<string, number> = {};
  let [calls, changed, unreadable] = [0, 0, 0];
  let firstUnreadable: string | undefined;
  for await (const call of recordedCalls(file)) {
    if ('why' in call) {
      unreadable += 1;
      firstUnreadable ??= `${call.name}: ${call.why}`;
      continue;
    }
    calls += 1;
    if (calls % PROGRESS_EVERY === 0) onProgress(calls);
    const difference = compare(call, before, after);
    if (!difference) continue;
    changed += 1;
    const kind = `${difference.before.outcome} → ${difference.after.outcome}`;
    changes[kind] = (changes[kind] ?? 0) + 1;
    onChange(difference);
  }
  for (const { engine } of [before, after]) engine.release();
  return { calls, changed, changes, unreadable, firstUnreadable, present: before.id, candidate: after.id };
}

const load = async (places: PolicyPlaces) => await loadVersion(await readPolicyTexts(places), places);

function compare(call: RecordedCall, present: PolicyVersion, candidate: PolicyVersion): ChangedCall | undefined {
  const { name, request, approvedFor } = call;
  const [before, after] = [present, candidate].map((version) => outcomeOf(version, request, approvedFor));
  if (!before || !after || isSame(before, after)) return undefined;
  const named = ({ type, id }: { type: string; id: string }) => `${type} ${id}`;
  return {
    name,
    subject: named(request.subject),
    action: request.action.name,
    resource: named(request.resource),
    before,
    after,
  };
}

const isSame = (a: Outcome, b: Outcome) =>
  a.outcome === b.outcome &&
  a.reason === b.reason &&
  a.template === b.template &&
  isDeepStrictEqual(a.obligations, b.obligations);
