import * as z from 'zod';
import type { Timing } from '../../../apps/shared/limits.ts';
import type {
  ResolutionStatement,
  StatedPerson,
  StatedVote,
} from '../../../workflows/domain/access-request/statement.ts';
import { ACCESS_REQUEST_STATUSES, VERDICTS } from '../../../workflows/domain/access-request/access-request.ts';
import type { PasskeyAssertion } from '../../../workflows/domain/access-request/passkey.ts';
import { isAgentMessage } from '../../../workflows/domain/access-request/agent-message.ts';
import type { AccessRequestService } from '../../../workflows/domain/ports.ts';
import { type HttpAnswer, type IsTrusted, readJson } from '../http.ts';

/** The statement becomes a part of our records: its size is bounded, and it has this form only. */
const MAX_LENGTH = 512 * 1024;
const MAX_VOTES = 1_000;
const MAX_STAGES = 100;
const MAX_ACTORS = 100;
/** Of extensions, of hand-overs, and of questions. */
const MAX_ACTS = 1_000;

const text = z.string().min(1).max(1_024);
const words = z.string().max(4_000);
/** Rewritten with milliseconds and in UTC: records compare instants as text. */
const instant = z.iso
  .datetime({ offset: true })
  .refine((at) => Date.parse(at) > 0)
  .transform((at) => new Date(at).toISOString());
const stage = z.number().int().min(1).max(MAX_STAGES);

/** Of a passkey, base64url. */
const binary = z
  .string()
  .max(4_000)
  .regex(/^[\w-]+$/);
const passkey = z
  .object({
    ...{ credential_id: binary, public_key: binary, authenticator_data: binary, client_data_json: binary },
    ...{ signature: binary, challenge: words, nonce: binary.exactOptional() },
  })
  .transform(
    ({
      credential_id,
      public_key,
      authenticator_data,
      client_data_json,
      signature,
      challenge,
      nonce,
    }): PasskeyAssertion => ({
      ...{ credentialId: credential_id, publicKey: public_key, authenticatorData: authenticator_data },
      ...{ clientDataJSON: client_data_json, signature, challenge, ...(nonce !== undefined && { nonce }) },
    }),
  );

const previewDigest = z.string().regex(/^sha-256:[0-9a-f]{64}$/);

const person = z.object({ issuer: text.exactOptional(), subject: text, name: text.exactOptional() });
const vote = z
  .object({
    approver: person,
    cast_by: person.exactOptional(),
    actors: z.array(text).max(MAX_ACTORS).exactOptional(),
    as_requester: z.literal(true).exactOptional(),
    verdict: z.enum(VERDICTS),
    reason: words.exactOptional(),
    // Agents read it. An unfit message is left out, and the rest of the statement stays.
    message_for_agent: z.string().refine(isAgentMessage).optional().catch(undefined),
    via: text.exactOptional(),
    // As an unfit message: another service may mean something else by it.
    passkey: passkey.optional().catch(undefined),
    grant: text.exactOptional(),
    // As an unfit message.
    preview: previewDigest.optional().catch(undefined),
    stage: stage.exactOptional(),
    lapsed: z.literal(true).exactOptional(),
    at: instant,
  })
  .transform(
    ({
      cast_by: castBy,
      as_requester: asRequester,
      message_for_agent: agentMessage,
      passkey: proof,
      preview,
      lapsed,
      ...rest
    }): StatedVote => ({
      ...rest,
      ...(castBy && { castBy }),
      ...(asRequester && { asRequester }),
      ...(agentMessage !== undefined && { agentMessage }),
      ...(proof && { passkey: proof }),
      ...(preview !== undefined && { preview }),
      ...(lapsed && { hasLapsed: true }),
    }),
  );
const extension = z.object({
  by: person,
  ...{ stage, from: instant, to: instant, at: instant },
  reason: words.exactOptional(),
  via: text.exactOptional(),
});
const handOver = z
  .object({ by: person, to: text, at: instant, revoked_at: instant.exactOptional() })
  .transform(({ revoked_at: revokedAt, ...rest }) => ({ ...rest, ...(revokedAt !== undefined && { revokedAt }) }));
const question = z
  .object({
    ...{ by: person, on_behalf_of: text.exactOptional(), stage, question: words, at: instant },
    via: text.exactOptional(),
    answer: z.object({ text: words, at: instant }).exactOptional(),
  })
  .transform(({ on_behalf_of: onBehalfOf, ...rest }) => ({ ...rest, ...(onBehalfOf !== undefined && { onBehalfOf }) }));
const canceller = z.union([person.transform((by: StatedPerson) => ({ by })), z.object({ client: text })]);

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
    extensions: z.array(extension).max(MAX_ACTS).exactOptional(),
    hand_overs: z.array(handOver).max(MAX_ACTS).exactOptional(),
    questions: z.array(question).max(MAX_ACTS).exactOptional(),
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
  .transform(
    ({
      id,
      hand_overs: handOvers,
      break_glass: breakGlass,
      cancelled,
      ...rest
    }): { id: string; stated: ResolutionStatement } => {
      const { by, ...more } = cancelled ?? {};
      return {
        id,
        stated: {
          ...rest,
          ...(handOvers && { handOvers }),
          ...(breakGlass && { breakGlass }),
          ...(cancelled && { cancelled: { ...by, ...more } }),
        },
      };
    },
  );

/** The statement in an answer; undefined when it has no readable one, or one about another request or another status. */
function readStatement(
  answer: HttpAnswer,
  of: { accessRequestId: string; status: ResolutionStatement['status'] },
): ResolutionStatement | undefined {
  if (answer.status !== 200 || answer.text.length > MAX_LENGTH) return undefined;
  const parsed = statement.safeParse(readJson(answer));
  if (!parsed.success) return undefined;
  const { id, stated } = parsed.data;
  return id === of.accessRequestId && stated.status === of.status ? stated : undefined;
}

const ATTEMPTS = 3;
const PAUSE_MS = 250;

/**
 * Tries a few times, since the service had just answered. No more often, because the call waits meanwhile and does not rest on the
 * statement. Undefined when there was no answer.
 */
async function fetchRepeatedly(
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

/** Reads the statement of the service about a request. Sends nothing to an address that is not trusted. */
export function createStated(own: Timing & { send: Send; isTrusted: IsTrusted }): AccessRequestService['stated'] {
  const { send, isTrusted, clock, limits } = own;
  return async ({ accessRequestId }, { statementEndpoint: url, kind }) => {
    if (url === undefined) return undefined;
    const answer = isTrusted(url)
      ? await fetchRepeatedly(() => send(url, { method: 'GET', timeoutMs: limits.resolutionStatementMs }), clock)
      : undefined;
    const status = kind === 'granted' ? 'approved' : kind;
    const stated = answer && readStatement(answer, { accessRequestId, status });
    return stated === undefined ? { kind: 'unreadable' } : { kind: 'stated', ...stated };
  };
}
