import * as z from 'zod';
import { TERMINAL_STATES, type OutcomeRecord } from '../../workflows/domain/gated-call/outcome-record.ts';
import { END_REASONS, GATED_CALL_STATES } from '../../workflows/domain/gated-call/gated-call.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { toInstant } from './instant.ts';

/** The database writes instants in its own time zone and drops trailing zeros; here they become comparable text. */
const instant = z.string().transform((text, context) => {
  const found = toInstant(text);
  if (found !== undefined) return found;
  context.addIssue({ code: 'custom', message: 'not an instant' });
  return z.NEVER;
});

const text = z.string();
const count = z.number().int();
const object = z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value));

const recordSchema = z.object({
  outcomeRef: text,
  taskId: text,
  state: z.enum(TERMINAL_STATES),
  reason: z.enum(END_REASONS).exactOptional(),
  recordedAt: instant,
  tool: text,
  callDigest: text,
  toolDigest: text,
  requester: z.object({ issuer: text, subject: text, clientId: text.exactOptional() }),
  subject: object.exactOptional(),
  action: object.exactOptional(),
  resource: object.exactOptional(),
  createdAt: instant,
  generation: count,
  requestDeadline: instant,
  approvalExpiresAt: instant.exactOptional(),
  decisions: z.array(
    z.object({
      id: text,
      generation: count,
      kind: z.enum(['requestable', 'allow', 'deny', 'retry']),
      reason: text.exactOptional(),
      evaluationId: text.exactOptional(),
      evaluatedAt: instant,
    }),
  ),
  accessRequests: z.array(
    z.object({
      generation: count,
      accessRequestId: text.exactOptional(),
      approvalId: text.exactOptional(),
      approvedAt: instant.exactOptional(),
    }),
  ),
  claim: z.object({ claimedAt: instant, decisionId: text, generation: count }).exactOptional(),
  invocation: z.object({ beganAt: instant, notSentAt: instant.exactOptional() }).exactOptional(),
  result: z.object({ isError: z.boolean(), digest: text }).exactOptional(),
  transitions: z.array(z.object({ seq: count, to: z.enum(GATED_CALL_STATES), cause: text, at: instant })),
});

/** Reads the sealed text of a record. `undefined` when it is not one: the text was altered, or is of another version. */
export function readSealedText(sealed: string): OutcomeRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(sealed, (_key, value: unknown) => (value === null ? undefined : value));
    return recordSchema.safeParse(parsed).data;
  } catch {
    return undefined;
  }
}
