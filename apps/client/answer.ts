/** What may be answered with something else than its result, by the `resultType` that says so. */
const OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  task: ['tools/call'],
  input_required: ['tools/call', 'prompts/get', 'resources/read'],
};

export type AnswerKind = 'complete' | 'task' | 'input_required';

/**
 * What a request was answered with: its result, a task to follow, or questions to answer first. A client that declares tasks
 * has to take each for every call. Throws a `TypeError` for one that this method cannot have: such an answer is not valid.
 * @see SEP-2663, Capability negotiation (TASK-004, TASK-005); SEP-2322, Supported requests
 */
export function kindOfAnswer(
  method: string,
  { resultType = 'complete' }: { readonly resultType?: unknown },
): AnswerKind {
  const isKnown = typeof resultType === 'string' && Object.hasOwn(OTHERWISE, resultType);
  if (resultType !== 'complete' && !(isKnown && OTHERWISE[resultType]?.includes(method)))
    throw new TypeError(`${method} cannot be answered with this kind of result`);
  return resultType as AnswerKind;
}
