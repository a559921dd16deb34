import * as z from 'zod';
import type { Timing } from '../../../apps/shared/limits.ts';
import type {
  ResolutionStatement,
  StatedPerson,
  StatedVote,
} from '../../../workflows/domain/access-request/statement.ts';
import { ACCESS_REQUEST_STATUSES, VERDICTS } from '../../../workflows/domain/access-request/access-request.ts';
import { jsonOf } from '../../../workflows/domain/faithful-json.ts';
import type { AccessRequestService } from '../../../workflows/domain/ports.ts';
import type { HttpAnswer, IsTrusted } from '../http.ts';

/** The word of the access request service, which becomes a part of our records: bounded, and in no form but this one. */
const MAX_LENGTH = 512 * 1024;
const MAX_VOTES = 1_000;
const MAX_STAGES = 100;
const MAX_ACTORS = 100;

const text = z.string().min(1).max(1_024);
const words = z.string().max(4_000);
/** Written with milliseconds and in UTC, in which form the service may write it: records compare instants as text. */
const instant = z.iso
  .datetime({ offset: true })
  .refine((at) => Date.parse(at) > 0)
  .transform((at) => new Date(at).toISOString());
const stage = z.number().int().min(1).max(MAX_STAGES);

const person = z.object({ issuer: text.exactOptional(), subject: text, name: text.exactOptional() });
const vote = z
  .object({
    approver: person,
    cast_by: person.exactOptional(),
    actors: z.array(text).max(MAX_ACTORS).exactOptional(),
    verdict: z.enum(VERDICTS),
    reason: words.exactOptional(),
    via: text.exactOptional(),
    stage: stage.exactOptional(),
    lapsed: z.literal(true).exactOptional(),
    at: instant,
  })
  .transform(({ cast_by: castBy, lapsed, ...rest }): StatedVote => ({
    ...rest,
    ...(castBy && { castBy }),
    ...(lapsed && { hasLapsed: true }),
  }));
const client = z.object({ client: text }).transform(({ client: name }) => ({ client: name }));
const canceller = z.union([person.transform((by: StatedPerson) => ({ by })), client]);

const statement = z
  .object({
    id: text,
    status: z.enum(ACCESS_REQUEST_STATUSES),
    template: text.exactOptional(),
    stages: z
      .array(z.object({ name: text, quorum: z.number().int().min(1).exactOptional() }))
      .max(MAX_STAGES)
      .exactOptional(),
    votes: z.array(vote).max(MAX_VOTES),
    break_glass: z.object({ by: person, reason: words, via: text.exactOptional(), at: instant }).exactOptional(),
    cancelled: z
      .object({
        by: canceller.exactOptional(),
        reason: words.exactOptional(),
        via: text.exactOptional(),
        at: instant.exactOptional(),
      })
      .exactOptional(),
  })
  .transform(({ id, break_glass: breakGlass, cancelled, ...rest }): { id: string; stated: ResolutionStatement } => {
    const { by, ...more } = cancelled ?? {};
    return {
      id,
      stated: { ...rest, ...(breakGlass && { breakGlass }), ...(cancelled && { cancelled: { ...by, ...more } }) },
    };
  });

/** Which request a statement has to be about, and how that stands. */
interface StatedOf {
  readonly accessRequestId: string;
  readonly status: ResolutionStatement['status'];
}

/** The statement in an answer; undefined when there is none in it that can be read, or it is about another request or another end. */
function readStatement(answer: HttpAnswer, of: StatedOf): ResolutionStatement | undefined {
  if (answer.status !== 200 || answer.text.length > MAX_LENGTH) return undefined;
  const parsed = statement.safeParse(jsonIn(answer));
  if (!parsed.success) return undefined;
  const { id, stated } = parsed.data;
  return id === of.accessRequestId && stated.status === of.status ? stated : undefined;
}

function jsonIn(answer: HttpAnswer): unknown {
  try {
    return jsonOf({ type: answer.header('content-type'), text: answer.text });
  } catch {
    return undefined;
  }
}

const ATTEMPTS = 3;
const PAUSE_MS = 250;

/**
 * Fetches a few times what may come a moment later: the service had just answered. No more than that, because the call waits for it,
 * and does not rest on it. Undefined when there was no answer.
 */
async function fetchPatiently(
  fetchOnce: () => Promise<HttpAnswer>,
  clock: Timing['clock'],
): Promise<HttpAnswer | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetchOnce().catch(() => undefined);
    const isFinal = answer !== undefined && answer.status < 500 && answer.status !== 429;
    if (isFinal || attempt === ATTEMPTS) return answer;
    await clock.after(PAUSE_MS);
  }
}

type Send = (url: string, init: { method: 'GET'; timeoutMs: number }) => Promise<HttpAnswer>;

/** Reads what the service states about a request. To an address that is not trusted nothing is sent, once or again. */
export function createStated({
  send,
  isTrusted,
  clock,
  limits,
}: Timing & {
  send: Send;
  isTrusted: IsTrusted;
}): AccessRequestService['stated'] {
  return async ({ accessRequestId }, { statementEndpoint: url, kind }) => {
    if (url === undefined) return undefined;
    const answer = isTrusted(url)
      ? await fetchPatiently(() => send(url, { method: 'GET', timeoutMs: limits.resolutionStatementMs }), clock)
      : undefined;
    const status = kind === 'granted' ? 'approved' : kind;
    const stated = answer && readStatement(answer, { accessRequestId, status });
    return stated === undefined ? { kind: 'unreadable' } : { kind: 'stated', ...stated };
  };
}
