import type { Request, Response } from 'express';
import * as z from 'zod';
import { isEnded, VERDICTS, type Verdict } from '../../../workflows/domain/access-request/access-request.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import { Refusal } from '../../shared/http/csrf.ts';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';
import { agentMessage } from '../agent-message.ts';
import { refuseUncounted } from '../cast-vote.ts';
import { type Concealment, concealmentIn } from '../shown-whole.ts';
import { typedText } from './actions.tsx';
import { type Visitor, visitorOf } from './authenticate.ts';
import { type BatchItem, BatchPage, type BatchResult, ResultsPage } from './batch-page.tsx';
import { fromList } from './list-query.ts';
import { MAX_BATCH } from './max-batch.ts';
import { renderNamed } from './names.tsx';
import { personOf } from './person.ts';
import { capacitiesOf, confirmationBy, findReadable, type InboxHttp, obstacleTo, type Reading } from './seat.ts';

/** Requests of one page of a list. */
const MAX_SELECTED = 200;

const ID = z.string().max(100);
const some = z.union([ID.transform((one) => [one]), z.array(ID)]).pipe(z.array(ID).min(1).max(MAX_SELECTED));
/** What the visitor saw of one request: id, generation, stage and digest of the call. */
const seen = z
  .string()
  .regex(/^[\w-]{1,100} \d{1,9} \d{1,9} sha-256:[0-9a-f]{64}$/)
  .transform((text) => {
    const [requestId = '', generation, stage, callDigest = ''] = text.split(' ');
    return { requestId, generation: Number(generation), stage: Number(stage), callDigest };
  });
type Seen = z.infer<typeof seen>;
const ballots = z.object({
  verdict: z.enum(VERDICTS),
  reason: typedText.optional(),
  agentMessage: agentMessage.optional(),
  item: z.union([seen.transform((one) => [one]), z.array(seen)]).pipe(z.array(z.custom<Seen>()).min(1).max(MAX_BATCH)),
});

const BACK = { href: '/requests?status=yours', label: 'To the requests' };

/** `GET /requests/batch`: what each of the selected requests does. */
export function showBatch(http: InboxHttp) {
  return async (request: Request, response: Response) => {
    const ids = some.safeParse(request.query['id']);
    if (!ids.success) {
      throw new Refusal(
        400,
        'No request is selected',
        `Select between 1 and ${MAX_SELECTED} requests in the list. ${MAX_BATCH} are decided at once.`,
        BACK,
      );
    }
    const visitor = visitorOf(response);
    const selected = [...new Set(ids.data)];
    const items = await itemsOf(http, visitor, selected.slice(0, MAX_BATCH));
    const later = laterOf(selected.slice(MAX_BATCH));
    const list = fromList(request.query['from']);
    const person = personOf(http, request, visitor);
    response.send(renderNamed(http, <BatchPage {...{ items, person, later, list }} summaries={http.summaries} />));
  };
}

/** Selected requests that do not fit into one decision; the next one is about them. */
const laterOf = (ids: readonly string[]): readonly string[] =>
  ids.filter((id) => /^[\w-]{1,100}$/.test(id)).slice(0, MAX_SELECTED);

/** `POST /requests/batch`: casts one vote for each request that the visitor saw. */
export function decideBatch(http: InboxHttp) {
  return async (request: Request, response: Response) => {
    const form = ballots.safeParse(request.body ?? {});
    if (!form.success) {
      throw new Refusal(400, 'This is not a decision', 'Nothing was decided. Select the requests again.', BACK);
    }
    const visitor = visitorOf(response);
    const { verdict, item: items, ...rest } = form.data;
    const results: BatchResult[] = [];
    // In turn: each vote is its own transaction, and a refused one keeps no other back.
    for (const item of items) results.push(await decide(http, visitor, { verdict, ...rest, ...item }));
    if (!wantsPage(request)) return void response.json({ results });
    const ids = results.map(({ id }) => id);
    const readings = await itemsOf(http, visitor, ids);
    const person = personOf(http, request, visitor);
    const list = fromList(request.query['from']);
    const { later: others } = request.query;
    const later = laterOf(typeof others === 'string' ? others.split(',') : []);
    const shown = { results, readings, verdict, person, list, later, summaries: http.summaries };
    response.send(renderNamed(http, <ResultsPage {...shown} />));
  };
}

const itemsOf = (http: InboxHttp, visitor: Visitor, ids: readonly string[]): Promise<BatchItem[]> =>
  Promise.all(
    ids.map(async (id) => {
      try {
        const reading = await findReadable(http, visitor, id);
        return { id, reading, leftOut: whyLeftOut(reading) };
      } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal;
        return { id, reading: undefined, leftOut: `${refusal.message}.` };
      }
    }),
  );

interface Judged extends Pick<Reading, 'seat'> {
  readonly request: AccessRequestSummary;
}

/** Why this request is not decided together with others. Undefined: its row shows all that its page would show of the call. */
export function whyLeftOut({ request, seat }: Judged): string | undefined {
  const obstacle = obstacleTo(seat, request);
  if (isEnded(request.status)) return 'It has ended.';
  if (obstacle !== undefined) return OBSTACLES[obstacle];
  if (capacitiesOf(seat, request)[0]?.standIn !== undefined) return 'You decide it for another approver. Open it.';
  if (confirmationBy(seat, request) !== undefined) return 'Your own agent asks. Open it to confirm it.';
  if (openStage(request).passkey === true) return 'It needs your passkey. Open it.';
  if (openStage(request).quorum > 1) return `It needs ${openStage(request).quorum} approvers. Open it.`;
  const concealment = concealmentIn(request.outline);
  return concealment && CONCEALMENTS[concealment];
}

const CONCEALMENTS = {
  no_call: 'It is no tool call. Open it.',
  too_long: 'Its arguments are too long for this table. Open it.',
  left_out: 'This table does not show all of its arguments. Open it.',
  misleads: 'Its arguments have characters that can mislead. Open it.',
} as const satisfies Record<Concealment, string>;

const OBSTACLES = {
  own_request: 'You or your agent requested it.',
  delegate_of_requester: 'You stand in for a person who requested it.',
  not_eligible: 'Other approvers decide it.',
  already_voted: 'You have decided it.',
  final: 'It has ended.',
} as const;

interface OneBallot extends Seen {
  readonly verdict: Verdict;
  readonly reason?: string | undefined;
  readonly agentMessage?: string | undefined;
}

async function decide(http: InboxHttp, visitor: Visitor, ballot: OneBallot): Promise<BatchResult> {
  const { requestId: id, verdict, reason, agentMessage: message, ...call } = ballot;
  try {
    const reading = await findReadable(http, visitor, id);
    // A refusal of `castVote` says more about a request that has changed since the page was drawn.
    const leftOut = obstacleTo(reading.seat, reading.request) === undefined ? whyLeftOut(reading) : undefined;
    if (leftOut !== undefined) return { id, isCounted: false, words: leftOut };
    const { issuer, subject, aliases, name, roles, via, chain, actors } = visitor;
    const approver = { issuer, subject, aliases, name, roles };
    const vote = { requestId: id, ...call, approver, verdict, reason, agentMessage: message, via, chain, actors };
    refuseUncounted(await http.castVote(vote), id);
    return { id, isCounted: true, words: verdict === 'approve' ? 'You approved it.' : 'You denied it.' };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { id, isCounted: false, words: `${refusal.message}. ${refusal.nextStep}` };
  }
}
