import type { Logger } from 'pino';
import type {
  AccessRequest,
  Approver,
  HandOver as HandOverRow,
} from '../../workflows/domain/access-request/access-request.ts';
import { isOnePerson } from '../../workflows/domain/access-request/same-person.ts';
import { ineligibilityOf, type People } from '../../workflows/domain/access-request/eligibility.ts';
import { earlierVote } from '../../workflows/domain/access-request/quorum.ts';
import { randomText } from '../shared/crypto.ts';
import { Refusal } from '../shared/http/csrf.ts';
import { isOf, linkTo, noSuchRequest, refuseUncounted } from './cast-vote.ts';
import type { StandIns } from './stand-ins.ts';
import type { AccessRequestStore } from './stores/access-request.store.ts';
import type { NewHandOver } from './stores/delegation.store.ts';

interface HandOverOptions {
  readonly store: Pick<AccessRequestStore, 'find'>;
  readonly delegations: Pick<StandIns, 'handOver'>;
  readonly people: () => People;
  readonly log: Logger;
}

interface HandOverOrder extends Pick<NewHandOver, 'requestId' | 'stage' | 'number'> {
  readonly by: Approver & { readonly chain: readonly string[] };
  /** Subject of the person who gets it. */
  readonly to: string;
}

export type HandOver = ReturnType<typeof createHandOver>;

/**
 * Lets an approver who may vote hand one request to another person, who may then vote in their place. It takes a vote of their own, so no
 * requester does it, not even one who may confirm, and a stand-in hands nothing on. Throws a `Refusal` unless the request was handed over,
 * now or by an earlier attempt with the same form.
 */
export function createHandOver({ store, delegations, people, log }: HandOverOptions) {
  return async ({ requestId, by, to, stage, number }: HandOverOrder): Promise<void> => {
    const request = await store.find(requestId);
    if (request === undefined) throw noSuchRequest();
    const { chain, ...delegator } = by;
    const isNew = number > handOversBy(by, request).length;
    // The database answers for a stage that is over, for votes, and for a form that was sent before.
    const isJudged = isNew && request.stage === stage && earlierVote(request, by, stage) === undefined;
    const ineligible = isJudged ? ineligibilityOf(by, request, people()) : undefined;
    const id = `dlg_${randomText(16)}`;
    const handOver = { id, requestId, delegator, chain, delegate: to, stage, judgedStage: request.stage, number };
    const outcome = ineligible ?? (await delegations.handOver(handOver));
    log.info({ accessRequest: requestId, stage, outcome }, 'an approver asked to hand a request over');
    if (outcome === 'handed_over' || outcome === 'repeated') return;
    if (!isOf(REFUSALS, outcome)) return refuseUncounted(outcome, requestId);
    const [status, title, nextStep] = REFUSALS[outcome];
    throw new Refusal(status, title, nextStep, linkTo(requestId));
  };
}

/** The hand-overs that this person made of a request, by any of their names. */
export const handOversBy = (
  { subject, aliases = [] }: Pick<Approver, 'subject' | 'aliases'>,
  { handOvers = [] }: Pick<AccessRequest, 'handOvers'>,
): HandOverRow[] => handOvers.filter(({ from, names = [] }) => isOnePerson([from, ...names], [subject, ...aliases]));

const REFUSALS = {
  to_oneself: [400, 'You cannot hand this over to yourself', 'Name another person.'],
  no_approver: [
    400,
    'There is no such approver',
    'Use the identifier they sign in with. They need the role “approver”, and the directory has to list them.',
  ],
  unlisted: [
    409,
    'You cannot let another person decide for you',
    'The directory does not list you, so it could not end the hand-over when you leave. Ask its administrators to add you.',
  ],
  handed_before: [
    409,
    'You have handed this over before',
    'Nothing was changed. Take that hand-over back on the page “Out of office” first.',
  ],
  delegate_voted: [409, 'They have decided this already', 'A person has one decision. Hand it over to another person.'],
  delegate_has_part: [
    409,
    'They cannot decide this request',
    'They requested it, or stand in for a person who did. Hand it over to another person.',
  ],
} as const;
