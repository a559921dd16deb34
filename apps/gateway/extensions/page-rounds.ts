import type { Clock } from '../../shared/clock.ts';
import type { PageRounds } from '../calls/tool-call.ts';
import { PAGE_QUESTION } from '../wire/identifiers.ts';
import { callScope, type SealedStates } from './sealed-state.ts';

/**
 * Gives the page of a held call to a client that opens addresses, as a question. The state with which the client comes back leads to the
 * end of this call for this caller, as long as the call is kept. It opens nothing, and no tool runs by it.
 */
export const createPageRounds = ({
  sealedStates,
  clock,
}: {
  readonly sealedStates: SealedStates;
  readonly clock: Clock;
}): PageRounds => ({
  async ask(binding, { taskId, retainUntil }, page) {
    const seconds = Math.max(1, Math.ceil((Date.parse(retainUntil) - clock.now()) / 1_000));
    const requestState = await sealedStates.seal({ kind: 'approval_page', taskId }, callScope(binding), seconds);
    return { kind: 'page', key: PAGE_QUESTION, page, requestState };
  },
});
