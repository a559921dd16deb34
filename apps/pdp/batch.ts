import { setImmediate } from 'node:timers/promises';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { DecisionBody } from './decide.ts';
import { BadRequest, readEvaluation, type Batch, type Semantic } from './requests.ts';

/** Whether a batch is over once this decision has been added to its answer. */
const IS_LAST = {
  execute_all: () => false,
  deny_on_first_deny: (decision) => !decision,
  permit_on_first_permit: (decision) => decision,
} as const satisfies Record<Semantic, (decision: boolean) => boolean>;

/** Others get their turn after so many entries: evaluations take the thread for themselves. */
const ENTRIES_AT_A_TIME = 32;

/** Answers entries in order. An entry that is no request is a denial of its own and spoils no other (AZ-BX-07). */
export async function decideBatch(
  batch: Batch,
  decide: (request: EvaluationRequest) => Promise<DecisionBody>,
): Promise<{ evaluations: DecisionBody[] }> {
  const evaluations: DecisionBody[] = [];
  for (const [index, entry] of batch.entries.entries()) {
    if (index % ENTRIES_AT_A_TIME === ENTRIES_AT_A_TIME - 1) await setImmediate();
    const answer = await decideEntry(entry, decide);
    evaluations.push(answer);
    if (IS_LAST[batch.semantic](answer.decision)) break;
  }
  return { evaluations };
}

async function decideEntry(
  entry: unknown,
  decide: (request: EvaluationRequest) => Promise<DecisionBody>,
): Promise<DecisionBody> {
  try {
    return await decide(readEvaluation(entry));
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    return { decision: false, context: { error: { status: 400, message: error.message } } };
  }
}
