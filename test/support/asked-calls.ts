import { randomUUID } from 'node:crypto';
import type { EndReason, GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { TaskQuestion } from '../../workflows/domain/ports.ts';
import { ownerKey } from '../../workflows/domain/principal.ts';
import { requestForm, type RequestForm } from '../../workflows/domain/submission-input/request-form.ts';
import { anApproval, anOpening, CALLER } from './gated-calls.ts';
import { schemaOf } from './input-calls.ts';
import type { OwnCalls } from './own-calls.ts';

/** A form with these texts, each of them required. */
export function aForm(...names: string[]): RequestForm {
  const form = requestForm(schemaOf(Object.fromEntries(names.map((name) => [name, { type: 'string', minLength: 3 }]))));
  if ('problem' in form) throw new Error(form.problem);
  return form;
}

/** Under a new key. */
export const aQuestion = (name = 'ticket'): TaskQuestion => ({ key: `input-${randomUUID()}`, form: aForm(name) });

const LIMITS = { formDigest: 'digest', maxGenerations: 4, maxRounds: 2 };

/** Calls whose owner is asked a question, in a database of a test. */
export function askedCalls(own: OwnCalls) {
  async function ask(
    call: { gatedCallId: string },
    questions: readonly TaskQuestion[],
    of: Partial<typeof LIMITS> = {},
  ) {
    return own.fixture.lifecycle.askInput({ ...call, generation: 1 }, { ...LIMITS, ...of, questions });
  }
  return {
    ask,
    granted: (of: { takesInput?: boolean; approvedUntil?: string } = {}) =>
      own.fixture.granted(anOpening({ takesInput: of.takesInput ?? true }), anApproval(of)),
    /** Waits for the answers to these. */
    async asked(questions: readonly TaskQuestion[] = [aQuestion()]) {
      const call = await own.fixture.granted(anOpening({ takesInput: true }));
      const state = await ask(call, questions);
      if (state !== 'input_required') throw new Error(`expected a question, got ${state}`);
      return call;
    },
    answer: (call: { gatedCallId: string }, answers: Readonly<Record<string, string>>) =>
      own.fixture.calls.answer(
        call.gatedCallId,
        Object.entries(answers).map(([key, said]) => ({ key, content: { ticket: said } })),
      ),
    given: (call: { gatedCallId: string }, digest = LIMITS.formDigest) =>
      own.fixture.lifecycle.givenInput({ ...call, generation: 1 }, digest),
    openKeys: async ({ taskId }: { taskId: string }) =>
      (await own.fixture.calls.findTask(taskId, ownerKey(CALLER)))?.questions?.map(({ key }) => key),
    async endOf({ gatedCallId }: { gatedCallId: string }) {
      const text = 'SELECT state, reason FROM gateway.gated_call WHERE id = $1';
      const { rows } = await own.db.pool.query<{ state: GatedCallState; reason: EndReason | null }>(text, [
        gatedCallId,
      ]);
      return [rows[0]?.state, rows[0]?.reason];
    },
    async causesOf({ gatedCallId }: { gatedCallId: string }) {
      const text = 'SELECT cause FROM gateway.call_event WHERE gated_call_id = $1 ORDER BY seq';
      return (await own.db.pool.query<{ cause: string }>(text, [gatedCallId])).rows.map(({ cause }) => cause);
    },
    async signalsOf({ gatedCallId }: { gatedCallId: string }) {
      const text = `SELECT FROM gateway.outbox WHERE subject_id = $1 AND kind = 'signal_workflow'`;
      return (await own.db.pool.query(text, [gatedCallId])).rowCount;
    },
  };
}
