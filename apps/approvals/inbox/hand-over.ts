import * as z from 'zod';
import { handle, ordinal, requestNow } from './actions.tsx';
import { visitorOf } from './authenticate.ts';
import { findReadable, type InboxHttp } from './seat.ts';

/** `POST /requests/{id}/hand-overs`: lets another person decide this request in the visitor's place. */
export const handOver = (http: InboxHttp) =>
  handle(http, {
    body: z.object({
      /** Subject of the person who gets it. */
      to: z.string().trim().min(1).max(255),
      stage: ordinal,
      /** One more than the hand-overs of this request that the visitor saw of their own. */
      number: ordinal,
    }),
    invalid: ['The hand-over is not complete', 'Send to, stage and number. The request says which number is next.'],
    typed: ({ to }) => ({ form: 'hand-over', text: to }),
    async act({ to, stage, number }, { requestId, response }) {
      const visitor = visitorOf(response);
      const { seat } = await findReadable(http, visitor, requestId);
      const { issuer, subject, aliases, roles, chain } = visitor;
      await http.handOver({ requestId, by: { issuer, subject, aliases, roles, chain }, to, stage, number });
      return requestNow(http, requestId, seat);
    },
  });
