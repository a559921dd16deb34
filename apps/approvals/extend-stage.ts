import type { Logger } from 'pino';
import { ineligibilityOf, type People } from '../../workflows/domain/access-request/eligibility.ts';
import { Refusal } from '../shared/http/csrf.ts';
import { singleLine } from './access-requests/problem.ts';
import { isOf, linkTo, named, noSuchRequest, refuseUncounted } from './cast-vote.ts';
import type { AccessRequestStore, ExtensionOutcome } from './stores/access-request.store.ts';
import type { NewExtension } from './stores/new-rows.ts';

interface ExtendStageOptions {
  readonly store: Pick<AccessRequestStore, 'find' | 'extendStage'>;
  readonly people: () => People;
  readonly log: Logger;
}

export type ExtendStage = ReturnType<typeof createExtendStage>;

/**
 * Lets an approver of the open stage move its end, so that the others have more time. They may have voted. It takes the same right as a
 * vote in their own name, so no requester does it, not even one who may confirm. Throws a `Refusal` unless the end has moved, now or by
 * an earlier attempt with the same form.
 */
export function createExtendStage({ store, people, log }: ExtendStageOptions) {
  return async (order: Omit<NewExtension, 'judgedStage'>): Promise<void> => {
    const { requestId, stage, number, by } = order;
    const request = await store.find(requestId);
    if (request === undefined) throw noSuchRequest();
    // The database answers for a stage that is over, and for a form that was sent before.
    const isNew = request.extensions?.some((one) => one.stage === stage && one.number === number) !== true;
    const ineligible = isNew && request.stage === stage ? ineligibilityOf(by, request, people()) : undefined;
    const extension = {
      ...order,
      by: named(by, people()),
      reason: singleLine(order.reason),
      judgedStage: request.stage,
    };
    const outcome = ineligible ?? (await store.extendStage(extension));
    log.info(
      { accessRequest: requestId, stage, via: order.via, outcome },
      'an approver asked for more time in a stage',
    );
    if (outcome === 'extended' || outcome === 'repeated') return;
    if (!isOf(REFUSALS, outcome)) return refuseUncounted(outcome, requestId);
    const [title, nextStep] = REFUSALS[outcome];
    throw new Refusal(409, title, nextStep, linkTo(requestId));
  };
}

const REFUSALS = {
  extended_before: [
    'The end of the stage has moved since',
    'Another approver was faster. Nothing was changed. Read the new end, and send the form again if it is still too soon.',
  ],
  not_extendable: [
    'The stage cannot end that late',
    'The template sets how much longer a stage can get, and all extensions count together. Nothing was changed.',
  ],
  beyond_request: [
    'The request ends before that',
    'The agent was told when the request ends, so no stage can last longer. Nothing was changed.',
  ],
} as const satisfies Partial<Record<ExtensionOutcome, readonly [string, string]>>;
