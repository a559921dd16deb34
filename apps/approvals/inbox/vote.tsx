import type { Request, Response } from 'express';
import * as z from 'zod';
import { VERDICTS } from '../../../workflows/domain/access-request/access-request.ts';
import { Refusal } from '../../shared/http/csrf.ts';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { type CastVote, refuseUncounted } from '../cast-vote.ts';
import type { Delegation } from '../stores/delegation.store.ts';
import { voterOf } from './authenticate.ts';
import { orComeBack } from './come-back.tsx';
import { type Capacity, findReadable, type ReadingHttp, type Seat, standingIn } from './seat.ts';
import { typedText } from './typed-text.ts';
import { detailView } from './view.tsx';

export interface VoteHttp extends ReadingHttp {
  readonly castVote: CastVote;
}

const digest = z.string().regex(/^sha-256:[0-9a-f]{64}$/);
const voteBody = z.object({
  verdict: z.enum(VERDICTS),
  reason: typedText.optional(),
  callDigest: digest,
  generation: z.coerce.number().pipe(z.int32().min(1)).optional(),
  /** The subject for whom the visitor votes. Absent or empty: for themselves. */
  onBehalfOf: z.string().max(1_024).optional(),
  /** The stage that the visitor looked at. */
  stage: z.coerce.number().pipe(z.int32().min(1)).optional(),
});

/** `POST /requests/{id}/votes`. */
export function vote(http: VoteHttp) {
  return async (request: Request, response: Response) => {
    const visitor = voterOf(request, response);
    const body = voteBody.safeParse(request.body);
    if (!body.success) {
      throw new Refusal(
        400,
        'This is not a decision',
        'Send verdict (approve or deny), callDigest and, optionally, reason.',
      );
    }
    const { onBehalfOf, ...ballot } = body.data;
    const requestId = String(request.params['id']);
    const typed = { form: 'vote', text: ballot.reason, onBehalfOf } as const;
    await orComeBack(http, { request, response, requestId }, typed, async () => {
      const { seat } = await findReadable(http, visitor, requestId);
      const capacity = capacityOf(seat, onBehalfOf);
      if (capacity === undefined) return refuseUncounted('delegation_over', requestId);
      const { via, chain, actors } = visitor;
      const cast = { requestId, ...ballot, reason: ballot.reason, via, chain, actors, ...capacity };
      refuseUncounted(await http.castVote({ ...cast, generation: ballot.generation }), requestId);
      // The page is read again from the database: it never confirms a vote that does not count yet.
      if (wantsPage(request)) return response.redirect(303, `/requests/${requestId}`);
      const found = await http.store.find(requestId);
      if (found !== undefined) response.json({ request: detailView(found, seat) });
    });
  };
}

/** The capacity in which the visitor votes; undefined when they do not stand in for that approver. */
function capacityOf({ visitor, delegations }: Seat, onBehalfOf: string | undefined): Capacity | undefined {
  const { issuer, subject, name, roles } = visitor;
  if (onBehalfOf === undefined || onBehalfOf === '') return { approver: { issuer, subject, name, roles } };
  const delegation = delegations.find(({ delegator }: Delegation) => delegator.subject === onBehalfOf);
  return delegation && standingIn(delegation, visitor);
}
