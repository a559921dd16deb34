import * as z from 'zod';
import { handle, ordinal, requestNow, typedText } from './actions.tsx';
import { visitorOf } from './authenticate.ts';
import { findReadable, type InboxHttp } from './seat.ts';

/** So that seconds are 32-bit integers in the database. */
const MAX_MINUTES = 35_000_000;

/** `POST /requests/{id}/extensions`: gives the approvers of the open stage more time. */
export const extendStage = (http: InboxHttp) =>
  handle(http, {
    body: z.object({
      minutes: ordinal.pipe(z.number().max(MAX_MINUTES)),
      stage: ordinal,
      /** One more than the extensions of the stage that the visitor saw. */
      number: ordinal,
      reason: typedText.optional(),
    }),
    invalid: [
      'The extension is not complete',
      'Send minutes, stage and number, which are whole and at least 1. The request says which number is next.',
    ],
    typed: ({ reason }) => ({ form: 'extension', text: reason }),
    async act({ minutes, stage, number, reason }, { requestId, response }) {
      const visitor = visitorOf(response);
      const { seat } = await findReadable(http, visitor, requestId);
      const { issuer, subject, aliases, name, roles, chain, via } = visitor;
      const by = { issuer, subject, aliases, name, roles, chain };
      await http.extendStage({ requestId, by, stage, number, seconds: minutes * 60, reason, via });
      return requestNow(http, requestId, seat);
    },
  });
