import * as z from 'zod';
import { oneLine } from '../one-line.ts';
import { Problem } from './problem.ts';

/** Unknown members are ignored; what is there has to be what it is called. @see ARAP, Cancellation */
const cancellationSchema = z
  .looseObject({ reason: z.string().max(64).optional(), comment: z.string().max(2_000).optional() })
  .optional();

/** Why a client gives a request up, if it says so. Throws a `Problem` (400). */
export function readCancellation(body: unknown): { reason?: string | undefined; comment?: string | undefined } {
  const parsed = cancellationSchema.safeParse(body);
  if (!parsed.success) throw new Problem(400, 'reason (at most 64 characters) and comment (at most 2,000) are texts');
  const { reason, comment } = parsed.data ?? {};
  return { reason: oneLine(reason), comment: oneLine(comment) };
}
