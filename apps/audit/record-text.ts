import * as z from 'zod';
import {
  TERMINAL_STATES,
  type OutcomeRecord,
  type RecordedAccessRequest,
} from '../../workflows/domain/gated-call/outcome-record.ts';
import { ACCESS_REQUEST_STATUSES, VERDICTS } from '../../workflows/domain/access-request/access-request.ts';
import type { CallSeals } from '../../workflows/domain/gated-call/sealing.ts';
import { END_REASONS, GATED_CALL_STATES } from '../../workflows/domain/gated-call/gated-call.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { PREVIEW_FAULTS, type RecordedPreview } from '../../workflows/domain/tools/preview.ts';
import { isSealingKeyMissing } from '../../workflows/domain/errors.ts';
import { toInstant } from './filters.ts';

/** An instant as comparable text: the database writes it in its own time zone and drops trailing zeros. */
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
  sealedRequester: text,
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
      policyVersion: text.exactOptional(),
      policies: z.array(text).exactOptional(),
      obligations: z
        .array(z.object({ id: text, type: text, outcome: z.enum(['carried_out', 'queued', 'repeated', 'unmet']) }))
        .exactOptional(),
      evaluatedAt: instant,
    }),
  ),
  accessRequests: z.array(
    z.object({
      generation: count,
      sealedHandle: text.exactOptional(),
      sealedStatement: text.exactOptional(),
      sealedApproval: text.exactOptional(),
      approvedAt: instant.exactOptional(),
    }),
  ),
  previews: z.array(z.object({ number: count, sealedPreview: text })).exactOptional(),
  claim: z.object({ claimedAt: instant, decisionId: text, generation: count }).exactOptional(),
  invocation: z.object({ beganAt: instant, notSentAt: instant.exactOptional() }).exactOptional(),
  result: z.object({ isError: z.boolean(), digest: text }).exactOptional(),
  transitions: z.array(z.object({ seq: count, to: z.enum(GATED_CALL_STATES), cause: text, at: instant })),
});

const person = z.object({ issuer: text.exactOptional(), subject: text, name: text.exactOptional() });
/** The worker bounded and checked the statement when it read it; this only checks the shape that was sealed. */
const statementSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('unreadable') }),
  z.object({
    kind: z.literal('stated'),
    status: z.enum(ACCESS_REQUEST_STATUSES),
    template: text.exactOptional(),
    stages: z.array(z.object({ name: text, quorum: count.exactOptional() })).exactOptional(),
    votes: z.array(
      z.object({
        approver: person,
        castBy: person.exactOptional(),
        actors: z.array(text).exactOptional(),
        asRequester: z.literal(true).exactOptional(),
        verdict: z.enum(VERDICTS),
        reason: text.exactOptional(),
        agentMessage: text.exactOptional(),
        via: text.exactOptional(),
        passkey: z
          .object({
            ...{ credentialId: text, publicKey: text, authenticatorData: text, clientDataJSON: text, signature: text },
            // Without the nonce: with it, auditors could guess short secrets among the arguments.
            challenge: text,
          })
          .exactOptional(),
        grant: text.exactOptional(),
        preview: text.exactOptional(),
        stage: count.exactOptional(),
        hasLapsed: z.literal(true).exactOptional(),
        at: instant,
      }),
    ),
    extensions: z
      .array(
        z.object({
          by: person,
          ...{ stage: count, from: instant, to: instant, at: instant },
          reason: text.exactOptional(),
          via: text.exactOptional(),
        }),
      )
      .exactOptional(),
    handOvers: z
      .array(z.object({ by: person, to: text, at: instant, revokedAt: instant.exactOptional() }))
      .exactOptional(),
    questions: z
      .array(
        z.object({
          ...{ by: person, onBehalfOf: text.exactOptional(), stage: count, question: text, at: instant },
          via: text.exactOptional(),
          answer: z.object({ text, at: instant }).exactOptional(),
        }),
      )
      .exactOptional(),
    breakGlass: z.object({ by: person, reason: text, via: text.exactOptional(), at: instant }).exactOptional(),
    cancelled: z
      .object({
        by: person.exactOptional(),
        client: text.exactOptional(),
        reason: text.exactOptional(),
        via: text.exactOptional(),
        at: instant.exactOptional(),
      })
      .exactOptional(),
  }),
]);
const handleSchema = z.object({ accessRequestId: text });
const previewSchema = z.object({
  tool: text,
  takenAt: instant,
  said: z.object({ isError: z.boolean(), digest: text, bytes: count }).exactOptional(),
  fault: z.enum(PREVIEW_FAULTS).exactOptional(),
});
const requesterSchema = z.object({
  requester: z.object({
    issuer: text,
    subject: text,
    clientId: text.exactOptional(),
    actors: z
      .array(z.object({ subject: text, issuer: text.exactOptional(), clientId: text.exactOptional() }))
      .exactOptional(),
    aliases: z.array(text).exactOptional(),
  }),
  subject: object.exactOptional(),
  action: object.exactOptional(),
  resource: object.exactOptional(),
});

/**
 * Reads the text of a record and opens its sealed parts. `undefined` when the text was altered, is of another version, or its seals
 * cannot be opened. Throws `ERR_SEALING_KEY_UNAVAILABLE` when only this process lacks the key.
 */
export function readRecordText(recorded: string, keys: Pick<CallSeals, 'open'>): OutcomeRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(recorded, (_key, value: unknown) => (value === null ? undefined : value));
    const { sealedRequester, accessRequests, previews, ...record } = recordSchema.parse(parsed);
    const requester = keys.open('call_binding.sealed_requester', sealedRequester);
    return {
      ...record,
      ...requesterSchema.parse(JSON.parse(requester)),
      accessRequests: accessRequests.map((request) => openAccessRequest(request, keys)),
      ...(previews !== undefined && { previews: previews.map((preview) => openPreview(preview, keys)) }),
    };
  } catch (error) {
    if (isSealingKeyMissing(error)) throw error;
    return undefined;
  }
}

function openPreview(
  { number, sealedPreview }: { number: number; sealedPreview: string },
  keys: Pick<CallSeals, 'open'>,
): RecordedPreview {
  return previewSchema.parse(JSON.parse(keys.open('preview.sealed_preview', sealedPreview, number)));
}

function openAccessRequest(
  { sealedHandle, sealedStatement, sealedApproval, ...request }: z.infer<typeof recordSchema>['accessRequests'][number],
  keys: Pick<CallSeals, 'open'>,
): RecordedAccessRequest {
  const { generation } = request;
  const handle = sealedHandle && keys.open('submission.sealed_handle', sealedHandle, generation);
  const statement = sealedStatement && keys.open('submission.sealed_statement', sealedStatement, generation);
  const approvalId = sealedApproval && keys.open('approval.sealed_reference', sealedApproval, generation);
  return {
    ...request,
    ...(handle && { accessRequestId: handleSchema.parse(JSON.parse(handle)).accessRequestId }),
    ...(statement && { statement: statementSchema.parse(JSON.parse(statement)) }),
    ...(approvalId && { approvalId }),
  };
}
