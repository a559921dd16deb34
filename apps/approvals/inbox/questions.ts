import * as z from 'zod';
import { handle, ordinal, requestNow, typedText } from './actions.tsx';
import { visitorOf } from './authenticate.ts';
import { capacityToAsk, findReadable, type InboxHttp } from './seat.ts';

/** `POST /requests/{id}/questions`: asks the requester of an open request a question. */
export const askRequester = (http: InboxHttp) =>
  handle(http, {
    body: z.object({
      question: typedText,
      stage: ordinal,
      /** One more than the questions of this request that the visitor saw of their own. */
      number: ordinal,
    }),
    invalid: [
      'The question is not complete',
      'Send question, stage and number. The request says which number is next.',
    ],
    typed: ({ question }) => ({ form: 'question', text: question }),
    part: 'questions',
    async act({ question, stage, number }, { requestId, response }) {
      const visitor = visitorOf(response);
      const { request, seat } = await findReadable(http, visitor, requestId);
      const { issuer, subject, aliases, name, roles, chain, via } = visitor;
      const own = { approver: { issuer, subject, aliases, name, roles } };
      const capacity = capacityToAsk(seat, request) ?? own;
      await http.askRequester({
        ...{ requestId, capacity, by: { issuer, subject, aliases, name, chain } },
        ...{ question, stage, number, via },
      });
      return requestNow(http, requestId, seat);
    },
  });

/** `POST /requests/{id}/answers`: the requester answers a question, in their browser. */
export const answerAsRequester = (http: InboxHttp) =>
  handle(http, {
    /** `number` is that of the question. */
    body: z.object({ number: ordinal, answer: typedText }),
    invalid: ['The answer is not complete', 'Send number, which is that of the question, and answer.'],
    typed: ({ number, answer }) => ({ form: 'answer', text: answer, number }),
    part: 'questions',
    async act({ number, answer }, { requestId, response }) {
      const visitor = visitorOf(response);
      const { seat } = await findReadable(http, visitor, requestId);
      await http.answerAsRequester({ requestId, number, answer, session: visitor.session?.id });
      return requestNow(http, requestId, seat);
    },
  });
