import type { Logger } from 'pino';
import { ineligibilityOf, type People } from '../../workflows/domain/access-request/eligibility.ts';
import { earlierVote } from '../../workflows/domain/access-request/quorum.ts';
import { MAX_OPEN_QUESTIONS, MAX_QUESTIONS } from '../../workflows/domain/access-request/requester-question.ts';
import { Refusal } from '../shared/http/csrf.ts';
import { singleLine } from './access-requests/problem.ts';
import { isOf, linkTo, named, noSuchRequest, refuseUncounted } from './cast-vote.ts';
import type { AccessRequestStore } from './stores/access-request.store.ts';
import type { Ballot } from './stores/new-rows.ts';
import type { NewAnswerOfRequester, NewQuestion } from './stores/requester-questions.ts';

interface QuestionOptions {
  readonly store: Pick<AccessRequestStore, 'find' | 'askRequester' | 'answerAsRequester'>;
  readonly people: () => People;
  readonly log: Logger;
}

interface Asking extends Pick<NewQuestion, 'requestId' | 'by' | 'stage' | 'number' | 'question' | 'via'> {
  /** In which the person could vote now. */
  readonly capacity: Pick<Ballot, 'approver' | 'standIn'>;
}

export type AskRequester = ReturnType<typeof createAskRequester>;
export type AnswerAsRequester = ReturnType<typeof createAnswerAsRequester>;

/**
 * Lets a person who may vote now ask the requester a question. It takes the same right as a vote, but no requester does it, not even one who
 * may confirm. Throws a `Refusal` unless the question is on record, now or by an earlier attempt with the same form.
 */
export function createAskRequester({ store, people, log }: QuestionOptions) {
  return async ({ capacity: { approver, standIn }, by, ...asked }: Asking): Promise<void> => {
    const { requestId, stage, via } = asked;
    const question = textIn(asked.question, 'question', requestId);
    const request = await store.find(requestId);
    if (request === undefined) throw noSuchRequest();
    const aliases = [...(approver.aliases ?? []), ...(standIn?.aliases ?? [])];
    const voter = { ...approver, aliases, castBy: standIn?.subject, chain: by.chain, session: undefined };
    // The database answers for a stage that is over, for votes, and for a form that was sent before.
    const isJudged = request.stage === stage && earlierVote(request, voter, stage) === undefined;
    const outcome =
      (isJudged ? ineligibilityOf(voter, request, people()) : undefined) ??
      (await store.askRequester({
        ...{ ...asked, question, by: named(by, people()), judgedStage: request.stage },
        ...{ approver, delegationId: standIn?.delegationId },
      }));
    log.info({ accessRequest: requestId, stage, via, outcome }, 'an approver asked the requester a question');
    if (outcome === 'asked' || outcome === 'repeated') return;
    if (!isOf(ASKING, outcome)) return refuseUncounted(outcome, requestId);
    const [title, nextStep] = ASKING[outcome];
    throw new Refusal(409, title, nextStep, linkTo(requestId));
  };
}

/**
 * Keeps the answer of the requester, who is signed in with a browser. Throws a `Refusal` unless it is on record, now or by an earlier attempt
 * with the same text.
 */
export function createAnswerAsRequester({ store, log }: Pick<QuestionOptions, 'store' | 'log'>) {
  return async (sent: Omit<NewAnswerOfRequester, 'session'> & { readonly session: string | undefined }) => {
    const { requestId, number, session } = sent;
    const answer = textIn(sent.answer, 'answer', requestId);
    const outcome =
      session === undefined ? 'not_requester' : await store.answerAsRequester({ requestId, number, session, answer });
    log.info({ accessRequest: requestId, outcome }, 'a requester answered a question');
    if (outcome === 'answered' || outcome === 'repeated') return;
    if (!isOf(ANSWERING, outcome)) return refuseUncounted(outcome, requestId);
    const [status, title, nextStep] = ANSWERING[outcome];
    throw new Refusal(status, title, nextStep, linkTo(requestId));
  };
}

function textIn(typed: string, what: 'question' | 'answer', requestId: string): string {
  const text = singleLine(typed);
  if (text === undefined) throw new Refusal(400, `The ${what} is empty`, 'Write a text.', linkTo(requestId));
  return text;
}

const ASKING = {
  asked_before: [
    'You have asked this requester something since',
    'Nothing was changed. Read your other question, and send the form again if you still need this one.',
  ],
  too_many_questions: [
    'The requester has enough questions',
    `At most ${MAX_OPEN_QUESTIONS} questions of a request can wait for an answer, and a request has at most ${MAX_QUESTIONS}. Nothing was changed.`,
  ],
  no_person: [
    'There is no person to ask',
    'A program made this request for itself, or its issuer is not known. Nothing was changed.',
  ],
} as const;

const ANSWERING = {
  not_requester: [
    403,
    'Only the requester answers',
    'Sign in to the inbox in a browser, as the person for whom the agent asks. No token of a program can answer.',
  ],
  answered_before: [409, 'You have answered this question', 'An answer cannot be changed. Nothing was changed.'],
  no_question: [404, 'There is no such question', 'The request says which questions it has.'],
} as const;
