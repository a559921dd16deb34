import type { Logger } from 'pino';
import { isEnded, type AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { automaticVoter } from '../../../workflows/domain/access-request/automatic.ts';
import type { People } from '../../../workflows/domain/access-request/eligibility.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import { randomText } from '../../shared/random-text.ts';
import { factsOf } from '../cast-vote.ts';
import { oneLine } from '../one-line.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import { questionOf } from './question.ts';
import { NOT_CONFIGURED, type AskResolver, type Said } from './resolvers.ts';

export interface ConsultOptions {
  readonly store: Pick<AccessRequestStore, 'find' | 'answerResolver'>;
  readonly resolvers: ReadonlyMap<string, AskResolver>;
  readonly people: () => People;
  readonly log: Logger;
}

/** What a resolver is asked about: a request, and a stage of it, from 1. */
interface Question {
  readonly requestId: string;
  readonly stage: number;
}

export type Consult = (question: Question, stopping: AbortSignal) => Promise<void>;

/**
 * Asks the resolver of a stage, if that is open and without an answer, and keeps what it says: an approval or a denial is its vote, and
 * everything else leaves the stage to its people. May be repeated: there is one answer for each stage. Rejects when the answer could not
 * be kept, or `stopping` aborted before it came: then it has to be asked again.
 */
export function createConsult({ store, resolvers, people, log }: ConsultOptions): Consult {
  return async ({ requestId, stage }, stopping) => {
    const asked = await store.find(requestId);
    const resolver = asked?.stage === stage ? toBeAsked(asked) : undefined;
    if (asked === undefined || resolver === undefined) return;
    const said = await (resolvers.get(resolver)?.(questionOf(asked), stopping) ?? NOT_CONFIGURED);
    // Others may have voted meanwhile: what the directory says is said of the request as it is now.
    const now = (await store.find(requestId)) ?? asked;
    const outcome = await store.answerResolver(answerTo(asked, { resolver, said, now, people: people() }));
    const facts = { accessRequest: requestId, resolver, verdict: said.verdict, via: 'automatic', outcome };
    if (said.verdict === 'failed')
      log.warn({ ...facts, why: said.reason, err: said.cause }, 'a resolver gave no answer');
    else if (['counted', 'noted', 'repeated'].includes(outcome)) log.info(facts, 'a resolver answered');
    else log.warn(facts, 'the answer of a resolver was refused');
  };
}

/** The resolver that has not answered for the open stage, if that has one. */
function toBeAsked(request: AccessRequest): string | undefined {
  const hasAnswered = request.answers.some(({ stage }) => stage === request.stage);
  return isEnded(request.status) || hasAnswered ? undefined : openStage(request).automatic;
}

interface Answered {
  readonly resolver: string;
  readonly said: Said;
  readonly now: AccessRequest;
  readonly people: People;
}

/** Bound to what the resolver was asked about: that call, that generation, that stage. */
function answerTo(asked: AccessRequest, { resolver, said, now, people }: Answered) {
  const { id: requestId, callDigest, generation, stage } = asked;
  const answered = { stage, resolver, verdict: said.verdict, at: now.createdAt };
  return {
    ...{ requestId, callDigest, generation, stage, judgedStage: stage, resolver },
    approver: automaticVoter(resolver),
    verdict: said.verdict,
    reason: oneLine(said.reason),
    via: 'automatic',
    approvalId: `apr_${randomText(16)}`,
    facts: factsOf({ ...now, answers: [...now.answers, answered] }, people),
  } as const;
}
