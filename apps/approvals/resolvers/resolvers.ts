import type { Logger } from 'pino';
import * as z from 'zod';
import { type AccessRequest, isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import {
  AUTOMATIC_VERDICTS,
  automaticVoter,
  type ResolverAnswer,
} from '../../../workflows/domain/access-request/automatic.ts';
import type { People } from '../../../workflows/domain/access-request/eligibility.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import { jsonOf } from '../../../workflows/domain/faithful-json.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { secretText } from '../../shared/config/secrets.ts';
import { randomText } from '../../shared/crypto.ts';
import { singleLine } from '../access-requests/problem.ts';
import { createSignedQuestion } from '../callbacks/signed-post.ts';
import { factsOf } from '../cast-vote.ts';
import { callView } from '../inbox/view.tsx';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

/** Room for a verdict and a reason of 2,000 characters, each as an escape of up to twelve bytes. */
const MAX_ANSWER_BYTES = 32 * 1024;

const answerSchema = z.strictObject({
  verdict: z.enum(AUTOMATIC_VERDICTS),
  reason: z.string().max(2_000).optional(),
});

/** A resolver's answer. For `failed`, `reason` says what was wrong. */
interface Said {
  readonly verdict: ResolverAnswer['verdict'];
  readonly reason: string | undefined;
  /** For the log: the error behind a failure. */
  readonly cause?: unknown;
}

/**
 * Asks one resolver, once. A missing or invalid answer counts as a failure, never as an approval. Rejects only when `stopping` aborts
 * before the answer.
 */
export type AskResolver = (question: { id: string; body: string }, stopping: AbortSignal) => Promise<Said>;

/** The configured resolvers. Throws `ERR_CONFIG_INVALID` for an unusable secret. */
export async function configuredResolvers(
  { approvals }: Pick<Config, 'approvals'>,
  clock: Clock,
): Promise<Map<string, AskResolver>> {
  const resolvers = new Map<string, AskResolver>();
  for (const [name, { url, networks, timeoutSeconds, secret }] of Object.entries(approvals.resolvers)) {
    const sender = { secret: await secretText(secret, `approvals.resolvers.${name}.secret`), networks };
    const limits = { timeoutMs: timeoutSeconds * 1_000, maxAnswerBytes: MAX_ANSWER_BYTES, clock };
    const post = createSignedQuestion(sender, limits);
    resolvers.set(name, async (question, stopping) => {
      try {
        return readAnswer(await post(url, question, stopping));
      } catch (cause) {
        stopping.throwIfAborted();
        return failed('it did not answer', cause);
      }
    });
  }
  return resolvers;
}

/** Requests may still wait for a resolver that is no longer configured. */
const NOT_CONFIGURED: Said = { verdict: 'failed', reason: 'it is not configured' };

function readAnswer({ status, ...answer }: { status: number; type: string | undefined; text: string }): Said {
  if (status !== 200) return failed(`it answered with status ${status}`);
  try {
    const { verdict, reason } = answerSchema.parse(jsonOf(answer));
    return { verdict, reason };
  } catch (cause) {
    return failed('its answer is not valid', cause);
  }
}

const failed = (reason: string, cause?: unknown): Said => ({ verdict: 'failed', reason, cause });

/**
 * The question for the resolver of the open stage: everything that an approver sees of the call. Id and body depend on the request
 * and its stage alone, so that a resolver recognizes a repeated question.
 */
function questionOf(request: AccessRequest): { readonly id: string; readonly body: string } {
  const { id, tool, generation, callDigest, stage, createdAt, expiresAt } = request;
  const { subject, requester, template, policies, reason, title } = request;
  const body = JSON.stringify({
    type: 'access_request.question',
    timestamp: createdAt,
    data: {
      ...{ id, tool, title, generation, callDigest },
      ...callView(request),
      ...{ subject: { type: subject.type, id: subject.id }, requester, template, policies, reason },
      stage: { name: openStage(request).name, position: stage, of: request.stages.length },
      ...{ createdAt, expiresAt },
    },
  });
  return { id: `msg_${id}_${stage}_question`, body };
}

interface ConsultOptions {
  readonly store: Pick<AccessRequestStore, 'find' | 'answerResolver'>;
  readonly resolvers: ReadonlyMap<string, AskResolver>;
  readonly people: () => People;
  readonly log: Logger;
}

/** A request and one of its stages, from 1. */
interface Question {
  readonly requestId: string;
  readonly stage: number;
}

export type Consult = (question: Question, stopping: AbortSignal) => Promise<void>;

/**
 * Asks the resolver of a stage, if the stage is open and has no answer, and stores the answer. An approval or a denial is its vote; any
 * other answer leaves the stage to people. A repetition does no harm: a stage has one answer. Rejects when the answer could not be stored
 * or `stopping` aborted first; then the resolver has to be asked again.
 */
export function createConsult({ store, resolvers, people, log }: ConsultOptions): Consult {
  return async ({ requestId, stage }, stopping) => {
    const asked = await store.find(requestId);
    const resolver = asked?.stage === stage ? toBeAsked(asked) : undefined;
    if (asked === undefined || resolver === undefined) return;
    const said = await (resolvers.get(resolver)?.(questionOf(asked), stopping) ?? NOT_CONFIGURED);
    // Others may have voted meanwhile, so the directory facts are taken for the request as it is now.
    const now = (await store.find(requestId)) ?? asked;
    const outcome = await store.answerResolver(answerTo(asked, { resolver, said, now, people: people() }));
    const facts = { accessRequest: requestId, resolver, verdict: said.verdict, via: 'automatic', outcome };
    if (said.verdict === 'failed')
      log.warn({ ...facts, why: said.reason, err: said.cause }, 'a resolver gave no answer');
    else if (['counted', 'noted', 'repeated'].includes(outcome)) log.info(facts, 'a resolver answered');
    else log.warn(facts, 'the answer of a resolver was refused');
  };
}

/** The resolver of the open stage, if it has one that has not answered. */
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

/** Bound to the call, generation and stage that the resolver was asked about. */
function answerTo(asked: AccessRequest, { resolver, said, now, people }: Answered) {
  const { id: requestId, callDigest, generation, stage } = asked;
  const answered = { stage, resolver, verdict: said.verdict, at: now.createdAt };
  return {
    ...{ requestId, callDigest, generation, stage, judgedStage: stage, resolver },
    approver: automaticVoter(resolver),
    verdict: said.verdict,
    reason: singleLine(said.reason),
    via: 'automatic',
    approvalId: `apr_${randomText(16)}`,
    facts: factsOf({ ...now, answers: [...now.answers, answered] }, people),
  } as const;
}
