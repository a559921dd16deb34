import * as z from 'zod';
import { randomText } from '../../shared/crypto.ts';
import { Refusal } from '../../shared/http/csrf.ts';
import { refuseUncounted } from '../cast-vote.ts';
import { argumentsIn, type Choice, openValues, scopeOf } from '../grants/scope.ts';
import { digest, handle, ordinal, refuseOtherPreview, requestNow, typedText } from './actions.tsx';
import { visitorOf } from './authenticate.ts';
import { LONGEST_TEXT } from './refused.tsx';
import { findReadable, type InboxHttp } from './seat.ts';

const amount = z.coerce.number().pipe(z.int32().min(1));
const body = z
  .object({
    minutes: amount,
    uses: amount,
    reason: typedText.optional(),
    callDigest: digest,
    generation: ordinal.optional(),
    stage: ordinal.optional(),
    preview: digest.optional(),
  })
  .catchall(z.string().max(LONGEST_TEXT));
type Choices = Readonly<Record<string, string | number | undefined>>;

const IN_BROWSER =
  'Sign in with a browser, open the request, and give the grant there. A token can read and revoke grants.';
const UNLISTED =
  'The directory does not list you, so it could not end the grant when you leave. Decide this call by itself.';
const UNFIT =
  'A folder must be a whole one that the path of this call is in, and an address a host or a folder that this address is below. The ' +
  'beginning of another text cannot end with a backslash. Nothing was decided.';

/** Approves a request with a grant. `how-N` and `begins-N` are the choices for the values of the arguments, in their order from 0. */
export const giveGrant = (http: InboxHttp) =>
  handle(http, {
    body,
    invalid: ['This is not a grant', 'Send minutes, uses and callDigest. Both numbers are whole and at least 1.'],
    typed: ({ reason }) => ({ form: 'grant', text: reason }),
    async act({ minutes, uses, reason, callDigest, generation, stage, preview, ...choices }, exchange) {
      const { requestId, response, back } = exchange;
      const visitor = visitorOf(response);
      const reading = await findReadable(http, visitor, requestId);
      const { request, seat } = reading;
      if (visitor.via !== 'inbox') throw new Refusal(403, 'A grant needs a person who is there', IN_BROWSER, back);
      const { issuer, subject, aliases, name, roles, chain, actors } = visitor;
      const approver = { issuer, subject, aliases, name, roles };
      if (http.still(approver) === undefined) throw new Refusal(409, 'You cannot give a grant', UNLISTED, back);
      const args = argumentsIn(request.context);
      const scope =
        args &&
        scopeOf(
          args,
          openValues(args).map((_value, index) => choiceAt(index, choices)),
        );
      if (scope === undefined) throw new Refusal(400, 'The grant would not cover this call', UNFIT, back);
      await refuseOtherPreview(http, reading, preview);
      const { sessionID: sessionId } = response.req;
      const grant = { id: `grn_${randomText(16)}`, seconds: minutes * 60, uses, sessionId, ...scope };
      const ballot = { requestId, approver, chain, actors, verdict: 'approve', via: 'inbox', reason } as const;
      refuseUncounted(await http.castVote({ ...ballot, callDigest, generation, stage, preview, grant }), requestId);
      const answer = requestNow(http, requestId, seat);
      return async () => ({ grant: { id: grant.id }, ...(await answer()) });
    },
  });

/** A value without a choice stays as it is. */
function choiceAt(index: number, choices: Choices): Choice {
  const how = choices[`how-${index}`];
  if (how === 'any') return { kind: 'any' };
  return how === 'begins' ? { kind: 'begins', text: String(choices[`begins-${index}`] ?? '') } : { kind: 'exact' };
}
