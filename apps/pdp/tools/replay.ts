import { open } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { jsonIn } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { decisionLine } from '../decision-log.ts';
import type { PolicyPlaces } from '../engine/cedar/policy-folder.ts';
import { loadCurrent, type CedarVersion } from '../engine/cedar/version.ts';
import { BadRequest, checkDepth, readBatch, readEvaluation } from '../http/requests.ts';
import { readCaseSet } from './cases.ts';
import { outcomeOf, type Outcome } from './outcome.ts';

/** A call that the candidate policies decide differently from the present ones. */
export type ChangedCall = NonNullable<ReturnType<typeof compare>>;
export type ReplayCounts = Awaited<ReturnType<typeof replayCalls>>;

interface Replay {
  readonly file: string;
  readonly present: PolicyPlaces;
  readonly candidate: PolicyPlaces;
  /** Called for every changed call as soon as it is found. */
  readonly onChange: (changed: ChangedCall) => void;
  /** Called now and then with the number of replayed calls. */
  readonly onProgress: (calls: number) => void;
}

const PROGRESS_EVERY = 10_000;

/**
 * Decides recorded calls by two sets of policies. Compares what a caller would notice: the outcome, its reason, the approval that
 * would cure it, and the obligations. Places without a readable request are unreadable, and `firstUnreadable` describes the first.
 * Throws `ERR_CONFIG_INVALID` if the policies or the file cannot be used.
 */
export async function replayCalls({ file, present, candidate, onChange, onProgress }: Replay) {
  const [before, after] = [await loadCurrent(present), await loadCurrent(candidate)];
  /** How many calls changed from one outcome to another, by `permit → deny`. */
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
  for (const { evaluator } of [before, after]) evaluator.release();
  return { calls, changed, changes, unreadable, firstUnreadable, present: before.id, candidate: after.id };
}

function compare(call: RecordedCall, present: CedarVersion, candidate: CedarVersion) {
  const { name, request, approvedFor, at } = call;
  const [before, after] = [present, candidate].map((version) => outcomeOf(version, request, approvedFor, at));
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

/** A request from a decision log or a file of cases. */
interface RecordedCall {
  /** Its place: `line 7`, or the name of a case. */
  readonly name: string;
  readonly request: EvaluationRequest;
  /** Template of the verified approval that came with it. */
  readonly approvedFor?: string | undefined;
  /** When it was decided, in milliseconds since 1970. Undefined: now counts. */
  readonly at?: number;
}

/** A place without a readable request. */
type Unreadable = { readonly name: string; readonly why: string };

/**
 * Reads a decision log, or a file of cases for `policy test`, request by request, so that a log may be large. Throws
 * `ERR_CONFIG_INVALID` if the file is neither.
 */
async function* recordedCalls(file: string): AsyncGenerator<RecordedCall | Unreadable> {
  if (await isDecisionLog(file))
    for await (const { number, line } of linesOf(file)) yield* readable(`line ${number}`, () => [fromLine(line)]);
  else yield* casesOf(file);
}

/** Whether the first line is a decision. No line of a file of cases is one. */
async function isDecisionLog(file: string): Promise<boolean> {
  for await (const { line } of linesOf(file)) return decisionLine.safeParse(jsonIn(line)).success;
  return false;
}

/** The lines that are not empty. */
async function* linesOf(file: string): AsyncGenerator<{ readonly number: number; readonly line: string }> {
  const handle = await open(file).catch((cause: unknown) => {
    const message = `${file} cannot be read. Name a decision log (pdp.decisionLog) or a file of cases.`;
    throw new CountersignError('ERR_CONFIG_INVALID', message, { cause });
  });
  let number = 0;
  try {
    for await (const line of handle.readLines()) {
      number += 1;
      if (line.trim() !== '') yield { number, line };
    }
  } finally {
    await handle.close();
  }
}

function fromLine(line: string): Omit<RecordedCall, 'name'> {
  const decision = decisionLine.safeParse(jsonIn(line));
  if (!decision.success) throw new BadRequest('it is not a line of a decision log');
  const { request, approval, time } = decision.data;
  return { request: requestFrom(request), approvedFor: approval?.template, at: Date.parse(time) };
}

async function* casesOf(file: string): AsyncGenerator<RecordedCall | Unreadable> {
  const { cases } = await readCaseSet(file);
  for (const { name, request, approval } of cases) {
    const approvedFor = approval?.state === 'valid' ? approval.template : undefined;
    yield* readable(name, () => {
      const entries = readBatch(request)?.entries ?? [request];
      return entries.map((entry) => ({ request: requestFrom(entry), approvedFor }));
    });
  }
}

function* readable(name: string, read: () => Omit<RecordedCall, 'name'>[]): Generator<RecordedCall | Unreadable> {
  try {
    const calls = read();
    for (const [index, call] of calls.entries())
      yield { ...call, name: calls.length === 1 ? name : `${name}, entry ${index + 1}` };
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    yield { name, why: error.message };
  }
}

function requestFrom(body: unknown): EvaluationRequest {
  checkDepth(body);
  return readEvaluation(body);
}
