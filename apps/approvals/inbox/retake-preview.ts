import * as z from 'zod';
import { Refusal } from '../../shared/http/csrf.ts';
import type { PreviewOutcome } from '../access-requests/take-preview.ts';
import { named } from '../cast-vote.ts';
import { handle } from './actions.tsx';
import { PREVIEW_FAULTS_IN_WORDS } from './preview.tsx';
import { findReadable, type InboxHttp, obstacleTo, previewsFor } from './seat.ts';
import { detailView } from './view.tsx';

const REFUSALS = {
  not_found: [404, 'There is no such request', 'Open the list of requests that you can read.'],
  final: [409, 'This request has ended', 'No preview was taken. The request says how it ended.'],
  full: [409, 'This request has as many previews as it can have', 'Decide by the call itself.'],
  refused: [
    409,
    'The gateway gave no preview of this call',
    'The call may be over, or its tool has no preview any more. Nothing was changed. Decide by the call itself.',
  ],
  unavailable: [
    502,
    'The gateway did not answer with a preview',
    'Nothing was changed. Try again in a minute, or decide by the call itself.',
  ],
} as const satisfies Record<
  Exclude<PreviewOutcome['kind'], 'kept' | 'too_soon' | 'fault'>,
  readonly [number, string, string]
>;

/** Takes the preview of an open request again, for an approver who can decide it. It decides nothing. */
export const retakePreview = (http: InboxHttp) =>
  handle(http, {
    body: z.object({}),
    invalid: ['The request cannot be read', 'Send an empty object.'],
    typed: () => ({ form: 'preview', text: undefined }),
    part: 'preview',
    async act(_body, { requestId, visitor, back }) {
      const reading = await findReadable(http, visitor, requestId);
      const obstacle = obstacleTo(reading.seat, reading.request);
      if (obstacle === 'final') throw new Refusal(...REFUSALS.final, back);
      const previews = await previewsFor(http, reading);
      if (obstacle !== undefined || visitor.via === 'agent') {
        const whoMay = 'Only an approver who can decide the request takes its preview again.';
        throw new Refusal(403, 'You cannot take this preview', whoMay, back);
      }
      if (previews === undefined)
        throw new Refusal(409, 'This request has no preview', 'Decide by the call itself.', back);
      const { issuer, subject, name } = visitor;
      const by = named({ issuer, subject, ...(name !== undefined && { name }) }, http.people());
      const outcome = await http.takePreview.take({ id: requestId, client: previews.client, by });
      if (outcome.kind === 'too_soon') {
        const wait = `Wait ${outcome.seconds} seconds, and press the button again. The page shows the latest preview.`;
        throw new Refusal(429, 'The preview was taken a moment ago', wait, back);
      }
      if (outcome.kind === 'fault') {
        const nextStep = `${PREVIEW_FAULTS_IN_WORDS[outcome.fault]} Nothing was changed. Try again later, or decide by the call itself.`;
        throw new Refusal(502, 'There is no new preview', nextStep, back);
      }
      if (outcome.kind !== 'kept') {
        const [status, title, nextStep] = REFUSALS[outcome.kind];
        throw new Refusal(status, title, nextStep, back);
      }
      return async () => {
        const now = await findReadable(http, visitor, requestId);
        return { request: detailView(now.request, now.seat, { previews: await previewsFor(http, now) }) };
      };
    },
  });
