import { query } from '../../apps/shared/database/query.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { EndReason, GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { CallSeals } from '../../workflows/domain/gated-call/sealing.ts';
import type { RefusedAnswer, TaskAnswer, TaskQuestion } from '../../workflows/domain/ports.ts';
import type { RequestForm } from '../../workflows/domain/submission-input/request-form.ts';
import { broken } from './key-ring.ts';
import { callFunction, sealsOf, type StepContext } from './query.ts';
import type { StoredCall } from './stored-call.ts';

/** A question as the database hands it out. */
export interface SealedQuestion {
  readonly key: string;
  readonly sealedForm: string;
}

export type PresentGeneration = Pick<StoredCall, 'gatedCallId' | 'generation'>;

/** The questions, as parts of the form with this digest. */
interface Asked {
  readonly questions: readonly TaskQuestion[];
  readonly formDigest: string;
  readonly maxGenerations: number;
  /** So many times the owner is asked in one generation. */
  readonly maxRounds: number;
}

type Column = 'question.sealed_form' | 'question.sealed_answer';

/** The key goes under the seal: a call has many questions, and the text of one cannot be put beside another. */
const sealFor = (keys: CallSeals, column: Column, { key, content }: { key: string; content: unknown }): string =>
  keys.seal(column, JSON.stringify({ key, content }));

/** Throws `ERR_SEAL_BROKEN` for a text that was sealed for another question. */
function openFor<T>(keys: CallSeals, column: Column, { key, sealed }: { key: string; sealed: string }): T {
  const opened = JSON.parse(keys.open(column, sealed)) as { key: string; content: T };
  if (opened.key !== key) throw broken('it is for another question');
  return opened.content;
}

type SealedForm = RequestForm & Pick<TaskQuestion, 'again'>;

const sealQuestion = (keys: CallSeals, { key, form, again }: TaskQuestion): string =>
  sealFor(keys, 'question.sealed_form', { key, content: { ...form, ...(again && { again }) } satisfies SealedForm });

export function openQuestion(keys: CallSeals, { key, sealedForm: sealed }: SealedQuestion): TaskQuestion {
  const { again, ...form } = openFor<SealedForm>(keys, 'question.sealed_form', { key, sealed });
  return { key, form, ...(again && { again }) };
}

// In the order in which they were asked: the last answer counts.
const GIVEN = `
  SELECT key, sealed_answer AS sealed FROM gateway.question
  WHERE gated_call_id = $1 AND generation = $2 AND form_digest = $3 AND answered_at IS NOT NULL ORDER BY asked_at, key`;

/** The input that a further access request needs, asked of the owner of the task. */
export function inputSteps(context: StepContext) {
  const { pool, seals, retentionMs } = context;
  return {
    /** `input_required`: the owner is asked. Any other answer is the state in which the call was found, or ended. */
    async askInput({ gatedCallId, generation }: PresentGeneration, asked: Asked): Promise<GatedCallState> {
      const keys = await sealsOf(context, gatedCallId);
      return callFunction(pool, 'ask-input', {
        call: gatedCallId,
        generation,
        form_digest: seals.digest(asked.formDigest),
        keys: asked.questions.map(({ key }) => key),
        sealed_forms: asked.questions.map((question) => sealQuestion(keys, question)),
        max_generations: asked.maxGenerations,
        max_rounds: asked.maxRounds,
        retention_ms: retentionMs,
      });
    },

    /** All answers of this generation for the form with this digest. */
    async givenInput({ gatedCallId, generation }: PresentGeneration, formDigest: string): Promise<JsonObject> {
      const values = [gatedCallId, generation, seals.digest(formDigest)];
      const rows = await query<{ key: string; sealed: string }>(pool, 'given-input', GIVEN, values);
      const keys = await sealsOf(context, gatedCallId);
      const contents = rows.map((row) => openFor<JsonObject>(keys, 'question.sealed_answer', row));
      return Object.assign({}, ...contents) as JsonObject;
    },
  };
}

/** Hands answers in. The database ignores answers to questions that are no longer open. */
export async function answerQuestions(
  context: StepContext,
  gatedCallId: string,
  answers: readonly TaskAnswer[],
): Promise<GatedCallState> {
  const { pool, retentionMs } = context;
  const keys = await sealsOf(context, gatedCallId);
  // Of several answers to one question the last counts.
  const sealed = new Map(
    answers.map(({ key, content }) => [key, sealFor(keys, 'question.sealed_answer', { key, content })]),
  );
  return callFunction(pool, 'answer-input', {
    call: gatedCallId,
    keys: [...sealed.keys()],
    sealed_answers: [...sealed.values()],
    retention_ms: retentionMs,
  });
}

/** So often one question is asked again. Some hosts decline at once in a person's place. */
const MAX_REFUSALS = 3;

/** Asks questions again under new keys, or denies the call if they were asked too often. */
export async function askAgain(
  context: StepContext,
  gatedCallId: string,
  refused: readonly RefusedAnswer[],
): Promise<GatedCallState> {
  const { pool, retentionMs } = context;
  const keys = await sealsOf(context, gatedCallId);
  const isDeclined = refused.some(({ next }) => next.again.why === 'declined');
  return callFunction(pool, 'ask-again', {
    call: gatedCallId,
    keys: refused.map(({ key }) => key),
    sealed_answers: refused.map(({ key }) => sealFor(keys, 'question.sealed_answer', { key, content: {} })),
    new_keys: refused.map(({ next }) => next.key),
    sealed_forms: refused.map(({ next }) => sealQuestion(keys, next)),
    max_refusals: MAX_REFUSALS,
    reason: (isDeclined ? 'input_declined' : 'input_missing') satisfies EndReason,
    retention_ms: retentionMs,
  });
}
