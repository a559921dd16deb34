/** What a server asks for: of the user, of the model, or of the client. The same in an answer and in a task. */
export interface Question {
  readonly method: string;
  readonly params?: unknown;
}

/** By the keys that the server chose. */
export type Questions = Readonly<Record<string, Question>>;

/**
 * Answers one question, as it would if it came alone: nothing here tells it that a task is behind it, or an approval, so it
 * trusts it no more for that (TASK-041).
 */
export type Answerer = (question: Question) => Promise<unknown>;

/**
 * Answers the questions, one after the other, by their keys: what `tasks/update` takes.
 *
 * @param answered Keys that were answered already; they are left out, and the new ones added. A task may show a question
 *   again until it has seen the answer.
 */
export async function answersTo(
  questions: Questions,
  answer: Answerer,
  answered: Set<string> = new Set(),
): Promise<Record<string, unknown>> {
  const answers: [key: string, answer: unknown][] = [];
  for (const [key, question] of Object.entries(questions)) {
    if (answered.has(key)) continue;
    answers.push([key, await answer(question)]);
    answered.add(key);
  }
  // A key is the server's choice: `__proto__` is one like any other.
  return Object.fromEntries(answers);
}

/** A request's answer that asks for something first. */
export interface Asking {
  readonly inputRequests?: Questions | undefined;
  readonly requestState?: string | undefined;
}

/**
 * The parameters with which the request is repeated: its own, the answers, and the state as the server gave it. What came
 * with an earlier repetition stays behind. The request needs an id of its own, which clients choose by themselves.
 * @see SEP-2322, Client requirements (MRTR-015 to MRTR-018)
 */
export async function repetitionOf<Params extends object>(
  params: Params,
  { inputRequests, requestState }: Asking,
  answer: Answerer,
): Promise<Omit<Params, 'inputResponses' | 'requestState'>> {
  const { inputResponses: _before, requestState: _old, ...own } = params as Params & Record<string, unknown>;
  return {
    ...(own as Omit<Params, 'inputResponses' | 'requestState'>),
    ...(inputRequests !== undefined && { inputResponses: await answersTo(inputRequests, answer) }),
    ...(requestState !== undefined && { requestState }),
  };
}
