import type { Request, Response } from 'express';
import * as z from 'zod';
import { VERDICTS } from '../../../workflows/domain/access-request/access-request.ts';
import { MAX_PRESET_REASON_LENGTH } from '../../shared/config/approver-settings.ts';
import { Refusal } from '../../shared/http/csrf.ts';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { singleLine } from '../access-requests/problem.ts';
import type { Withdrawal } from '../break-glass.ts';
import { AGENT_MESSAGE_RULE, agentMessage } from '../agent-message.ts';
import { linkTo, refuseUncounted } from '../cast-vote.ts';
import { visitorOf, type Voter, voterOf } from './authenticate.ts';
import { fromList } from './list-query.ts';
import { renderNamed } from './names.tsx';
import { From, requestAddress } from './near.tsx';
import { LONGEST_TEXT, type Typed } from './refused.tsx';
import { RequestPage, type RequestPageProps } from './request-page.tsx';
import { passkeyDemand } from './passkey-part.tsx';
import { personOf } from './person.ts';
import {
  type Capacity,
  delegationsFor,
  findReadable,
  type InboxHttp,
  previewsFor,
  readerRowOf,
  type Reading,
  type Seat,
  standingIn,
} from './seat.ts';
import { mayWithdraw } from './withdrawals.ts';
import { detailView } from './view.tsx';

/** Text of a form field. Browsers count a line break as one character but send two. */
export const typedText = z
  .string()
  .transform((text) => text.replaceAll('\r\n', '\n'))
  .pipe(z.string().max(LONGEST_TEXT));
export const digest = z.string().regex(/^sha-256:[0-9a-f]{64}$/);
export const ordinal = z.coerce.number().pipe(z.int32().min(1));

/** Of a passkey, in characters. */
const LONGEST_ANSWER = 20_000;

interface Exchange {
  readonly requestId: string;
  readonly response: Response;
  readonly visitor: Voter;
  /** Link of a refusal. */
  readonly back: { readonly href: string; readonly label: string };
}

/** One form of the request page. */
interface Action<Body extends z.ZodType> {
  readonly body: Body;
  /** Title and next step for an invalid body. */
  readonly invalid: readonly [title: string, nextStep: string];
  readonly typed: (body: z.infer<Body>) => Typed;
  /** The part of the page that shows what the form did. Default: its beginning. */
  readonly part?: string;
  /** Throws a `Refusal`, or returns the answer for programs. */
  readonly act: (body: z.infer<Body>, exchange: Exchange) => Promise<() => object | Promise<object>>;
}

/** The list of a visitor who came from none. */
const TO_DECIDE = { choice: 'yours', order: 'oldest', filter: {} } as const;

/** Draws the page of a request, with what it needs beyond the request itself. */
export async function requestPage(
  http: InboxHttp,
  request: Request,
  reading: Reading & Pick<RequestPageProps, 'view' | 'refused'>,
): Promise<string> {
  const person = personOf(http, request, reading.seat.visitor);
  const { store, summaries, auditUrl } = http;
  const reader = readerRowOf(reading.seat);
  const list = fromList(request.query['from']);
  const [passkey, previews, around, sameAgent] = await Promise.all([
    passkeyDemand(http, reading, request),
    previewsFor(http, reading),
    store.around({ ...(list ?? TO_DECIDE), reader }, reading.request.id),
    store.sameAgent(reading.request, reader),
  ]);
  const near = { list, around };
  const shown = { ...reading, person, passkey, previews, sameAgent, summaries, auditUrl, near };
  const page = <RequestPage {...shown} />;
  return renderNamed(http, <From.Provider value={list?.from}>{page}</From.Provider>);
}

/**
 * Handles a form of the request page. After a refusal, a person gets the page again with the request as it is now and the text they
 * typed; a program gets the refusal.
 */
export function handle<Body extends z.ZodType>(http: InboxHttp, { body, invalid, typed, part, act }: Action<Body>) {
  return async (request: Request, response: Response) => {
    const visitor = voterOf(response);
    const requestId = String(request.params['id']);
    const back = linkTo(requestId);
    const parsed = body.safeParse(request.body ?? {});
    if (!parsed.success) throw new Refusal(400, ...invalid, back);
    try {
      const answer = await act(parsed.data, { requestId, response, visitor, back });
      // The page is read again from the database: it never confirms a vote that does not count yet.
      if (wantsPage(request)) {
        const from = fromList(request.query['from'])?.from;
        response.redirect(303, `${requestAddress(requestId, { from })}${part === undefined ? '' : `#${part}`}`);
      } else response.json(await answer());
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || !wantsPage(request)) throw refusal;
      const reading = await findReadable(http, visitor, requestId).catch(() => {
        throw refusal;
      });
      const refused = { title: refusal.message, nextStep: refusal.nextStep, typed: typed(parsed.data) };
      response.status(refusal.status).send(await requestPage(http, request, { ...reading, refused }));
    }
  };
}

export const vote = (http: InboxHttp) =>
  handle(http, {
    body: z.object({
      verdict: z.enum(VERDICTS),
      reason: typedText.optional(),
      /** One of those that the page offers. It goes on record before `reason`. */
      presetReason: typedText.pipe(z.string().max(MAX_PRESET_REASON_LENGTH)).optional(),
      agentMessage: agentMessage.optional(),
      callDigest: digest,
      generation: ordinal.optional(),
      /** The subject for whom the visitor votes. Absent or empty: for themselves. */
      onBehalfOf: z.string().max(1_024).optional(),
      /** The stage that the visitor looked at. */
      stage: ordinal.optional(),
      /** The answer of the visitor's passkey, as JSON, to the value that the page gave out. Empty without a passkey. */
      passkey: z.string().max(LONGEST_ANSWER).optional(),
      passkeyNonce: z.string().max(100).optional(),
      preview: digest.optional(),
    }),
    invalid: [
      'This is not a decision',
      `Send verdict (approve or deny), callDigest and, optionally, reason and agentMessage. ${AGENT_MESSAGE_RULE}`,
    ],
    typed: ({ reason, presetReason, agentMessage, onBehalfOf }) => ({
      ...{ form: 'vote', text: reason, presetReason, agentMessage, onBehalfOf },
    }),
    async act(body, { requestId, visitor }) {
      const { onBehalfOf, reason: written, presetReason, generation, passkey: answer, passkeyNonce, ...ballot } = body;
      const reason = [presetReason, written].filter(Boolean).join(' ');
      const reading = await findReadable(http, visitor, requestId);
      await refuseOtherPreview(http, reading, body.preview);
      const { seat } = reading;
      const capacity = capacityOf(seat, requestId, onBehalfOf);
      const { via, chain, actors, session } = visitor;
      const passkey = answer && passkeyNonce ? { answer, nonce: passkeyNonce } : undefined;
      const cast = { requestId, ...ballot, reason, generation, via, chain, actors, session, passkey };
      refuseUncounted(capacity ? await http.castVote({ ...cast, ...capacity }) : 'delegation_over', requestId);
      return requestNow(http, requestId, seat);
    },
  });

/** The answer for programs: the request after what the form did. */
export const requestNow =
  ({ store }: Pick<InboxHttp, 'store'>, requestId: string, seat: Seat) =>
  async () => {
    const found = await store.find(requestId);
    return { request: found && detailView(found, seat) };
  };

/** Throws a `Refusal` for the digest of a preview that the page of the request never showed to this visitor. */
export async function refuseOtherPreview(
  http: InboxHttp,
  reading: Reading,
  digestShown: string | undefined,
): Promise<void> {
  const shown = digestShown === undefined ? undefined : await previewsFor(http, reading);
  const all = shown === undefined ? [] : [shown.latest, ...shown.earlier];
  if (digestShown === undefined || all.some((one) => one.digest === digestShown)) return;
  const nextStep = 'Nothing was decided. Read the request again.';
  throw new Refusal(409, 'The request has no such preview', nextStep, linkTo(reading.request.id));
}

/** The capacity in which the visitor votes; undefined when they do not stand in for that approver. */
function capacityOf(seat: Seat, requestId: string, onBehalfOf: string | undefined): Capacity | undefined {
  const { visitor } = seat;
  const { issuer, subject, aliases, name, roles } = visitor;
  if (onBehalfOf === undefined || onBehalfOf === '') return { approver: { issuer, subject, aliases, name, roles } };
  const delegation = delegationsFor(requestId, seat).find(({ delegator }) => delegator.subject === onBehalfOf);
  return delegation && standingIn(delegation, visitor);
}

export const breakGlass = (http: InboxHttp) =>
  handle(http, {
    body: z.object({ reason: typedText, callDigest: digest, generation: ordinal.optional() }),
    invalid: ['The emergency grant is incomplete', 'Send reason and callDigest.'],
    typed: ({ reason }) => ({ form: 'break-glass', text: reason }),
    async act({ reason, callDigest, generation }, { requestId, response, back }) {
      const visitor = visitorOf(response);
      const { issuer, subject, aliases, name, roles, via, chain } = visitor;
      // People who may break glass can read every open request. One that ended meanwhile gets its own refusal below.
      if (!http.breakGlass.mayBreak(visitor)) await findReadable(http, visitor, requestId);
      const approver = { issuer, subject, aliases, name, roles };
      const outcome = await http.breakGlass.grant({ requestId, approver, reason, callDigest, generation, via, chain });
      if (outcome === 'reason_missing')
        throw new Refusal(400, 'The reason is missing', 'Say why it cannot wait.', back);
      refuseUncounted(outcome, requestId);
      return () => ({ id: requestId });
    },
  });

const REVIEW_REFUSALS = {
  not_found: [404, 'There is nothing to review', 'This request was not granted in an emergency.'],
  own_request: [
    403,
    'You cannot review this grant',
    'You granted or requested it, or stand in for a person who did. Another approver has to review it.',
  ],
  already_reviewed: [409, 'It was already reviewed', 'Open the request to see who reviewed it.'],
} as const;

export const review = (http: InboxHttp) =>
  handle(http, {
    body: z.object({ note: typedText.optional() }),
    invalid: ['The note is not valid', `Send a text of at most ${LONGEST_TEXT} characters.`],
    typed: ({ note }) => ({ form: 'review', text: note }),
    async act({ note }, { requestId, visitor, back }) {
      await findReadable(http, visitor, requestId);
      const outcome = await http.brokenGlass.review(requestId, visitor, singleLine(note));
      if (outcome !== 'reviewed') {
        const [status, title, nextStep] = REVIEW_REFUSALS[outcome];
        throw new Refusal(status, title, nextStep, back);
      }
      http.log.info({ accessRequest: requestId }, 'an emergency grant was reviewed');
      return () => ({ id: requestId });
    },
  });

const NOT_THEIRS = {
  cancel: [
    'Only the requester can cancel this request',
    'Nothing was changed. If you can decide the request, deny it. Else ask a person who can: the request says who.',
  ],
  revoke: [
    'You cannot revoke this approval',
    'Nothing was changed. Ask the requester, or a person who decides a stage of this request.',
  ],
} as const satisfies Record<Withdrawal, readonly [string, string]>;

export const withdrawal = (what: Withdrawal, http: InboxHttp) =>
  handle(http, {
    body: z.object({ reason: typedText.optional() }),
    invalid: ['The reason is not valid', `Send a text of at most ${LONGEST_TEXT} characters.`],
    typed: ({ reason }) => ({ form: 'withdrawal', text: reason }),
    async act({ reason }, { requestId, response, back }) {
      const person = visitorOf(response);
      const reading = await findReadable(http, person, requestId);
      const [title, nextStep] = NOT_THEIRS[what];
      if (!mayWithdraw(what, reading)) throw new Refusal(403, title, nextStep, back);
      await http.withdraw({ requestId, person, what, reason, via: person.via });
      return () => ({ outcome: what === 'cancel' ? 'cancelled' : 'revoked', request: { id: requestId } });
    },
  });
