import type { HoldSettings } from '../calls/hold.ts';
import { OWN_TOOLS } from './identifiers.ts';
import { POLLED } from './own-tools.ts';
import type { Rendering } from './rendering.ts';

interface InstructionsFor {
  /** Whether the client speaks the present revision, the only one in which there are tasks. */
  readonly isModern: boolean;
  readonly rendering: Pick<Rendering, 'requestTools'>;
  readonly holding: Pick<HoldSettings, 'waitSeconds'>;
}

const WITH_TASKS =
  'With tasks, such a call answers with a task: keep its id, poll tasks/get, and answer by tasks/update what it asks. The tool has ' +
  'not run until the task says so. Without tasks:';

/** What a client is told at the start of calls that need an approval: of nothing that its revision or the operator does not have. */
export function instructionsFor({ isModern, rendering, holding }: InstructionsFor): string {
  const needed = 'Some tools need an approval before they run.';
  const otherwise = withoutTasks(rendering, holding);
  // What a request declares is not known here yet.
  return isModern ? `${needed} ${WITH_TASKS} ${otherwise}` : `${needed} ${otherwise}`;
}

function withoutTasks(
  { requestTools }: InstructionsFor['rendering'],
  { waitSeconds }: InstructionsFor['holding'],
): string {
  const { requestAccess, requestStatus } = OWN_TOOLS;
  const poll = `call ${requestStatus} with it, ${POLLED}`;
  const notYet = 'The tool has not run until an answer says so.';
  if (waitSeconds > 0) {
    const then = requestTools
      ? `then it answers with a request reference: ${poll}`
      : 'then repeat the same call, which joins the request';
    return `Such a call requests one, and waits for its result for up to ${waitSeconds} seconds; ${then}. ${notYet}`;
  }
  return requestTools
    ? `Such a call is refused: call ${requestAccess} with it, keep the request reference, and ${poll}. ${notYet}`
    : 'Such a call is refused, and nothing is requested: it takes a client with tasks.';
}
