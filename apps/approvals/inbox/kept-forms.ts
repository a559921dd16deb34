import type { Reading } from './seat.ts';
import { withdrawalBy } from './withdrawals.ts';
import type { Typed } from './refused.tsx';
import { canBreakGlass, canGiveGrant, extensionBy, handOverBy, isAskedIn, obstacleTo, questionBy } from './seat.ts';

/** Whether the page of the request still shows the form that was refused, so that it keeps the typed text. */
export function isShown(
  form: Typed['form'],
  { request, seat, broken }: Pick<Reading, 'request' | 'seat' | 'broken'>,
  now: Date,
): boolean {
  return {
    vote: obstacleTo(seat, request) === undefined,
    grant: canGiveGrant(seat, request),
    extension: extensionBy(seat, request) !== undefined,
    'hand-over': handOverBy(seat, request) !== undefined,
    question: questionBy(seat, request) !== undefined,
    answer: isAskedIn(request, seat),
    withdrawal: withdrawalBy({ request, seat, broken }, now) !== undefined,
    'break-glass': canBreakGlass(seat, request),
    review: false,
    preview: false,
  }[form];
}
