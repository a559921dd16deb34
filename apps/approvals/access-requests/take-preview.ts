import type { Logger } from 'pino';
import * as z from 'zod';
import { jsonOf } from '../../../workflows/domain/faithful-json.ts';
import { PREVIEW_FAULTS, type PreviewFault } from '../../../workflows/domain/tools/preview.ts';
import { randomText } from '../../shared/crypto.ts';
import { createRateLimit } from '../../shared/http/address-limit.ts';
import type { Timing } from '../../shared/limits.ts';
import { createSignedQuestion } from '../callbacks/signed-post.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { AccessRequestClient } from './clients.ts';
import { readPreview } from './preview.ts';

/** Room for the text that is shown, and for what describes it. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** Approvers of one request together, in this process. The gateway has the same limit for itself. */
const AT_MOST = { count: 1, seconds: 10 };

const answerSchema = z.union([z.object({ preview: z.unknown() }), z.object({ fault: z.enum(PREVIEW_FAULTS) })]);

export type PreviewOutcome =
  | { readonly kind: 'kept' | 'final' | 'full' | 'not_found' | 'unavailable' | 'refused' }
  | { readonly kind: 'too_soon'; readonly seconds: number }
  | { readonly kind: 'fault'; readonly fault: PreviewFault };

interface Asked {
  readonly id: string;
  /** Name of the credential that submitted the request. */
  readonly client: string;
  readonly by: { readonly issuer: string; readonly subject: string; readonly name?: string };
}

/** A question lasts for seconds only, so a stop of the service waits for it. */
const NEVER = new AbortController().signal;

export type TakePreview = ReturnType<typeof createTakePreview>;

interface TakePreviewOptions extends Timing {
  readonly store: Pick<AccessRequestStore, 'keepPreview'>;
  readonly clients: readonly AccessRequestClient[];
  readonly log: Logger;
}

/**
 * Takes the preview of an open request again, by a signed question to the gateway that submitted it, and keeps the answer. Only `kept`
 * changes something. The gateway takes it as it took the first one, and never runs the call by it.
 */
export function createTakePreview({ store, clients, clock, limits, log }: TakePreviewOptions) {
  const rate = createRateLimit(AT_MOST);
  const { previewAnswerMs: timeoutMs } = limits;
  const posts = new Map(
    clients.flatMap(({ name, callbacks }) => {
      if (callbacks?.previews === undefined) return [];
      const { previews: address, ...sender } = callbacks;
      const post = createSignedQuestion(sender, { timeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES, clock });
      return [[name, (body: string) => post(address, { id: `msg_${randomText(16)}`, body }, NEVER)]];
    }),
  );
  return {
    /** Whether the client that submitted a request can be asked. */
    isOffered: (client: string) => posts.has(client),

    async take({ id, client, by }: Asked): Promise<PreviewOutcome> {
      const post = posts.get(client);
      if (post === undefined) return { kind: 'refused' };
      const waitMs = await rate.take(id);
      if (waitMs !== undefined) return { kind: 'too_soon', seconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
      const answer = await answered(post(JSON.stringify({ task: { id } })));
      if ('kind' in answer) {
        log.warn({ accessRequest: id, outcome: answer.kind, err: answer.cause }, 'a preview was not taken again');
        return answer;
      }
      if ('fault' in answer) return { kind: 'fault', fault: answer.fault };
      const kind = await store.keepPreview({ id, preview: JSON.stringify(answer.preview), by });
      log.info({ accessRequest: id, outcome: kind }, 'a preview was taken again');
      return { kind };
    },
  };
}

type Answer =
  | { readonly preview: unknown }
  | { readonly fault: PreviewFault }
  | { readonly kind: 'unavailable' | 'refused'; readonly cause?: unknown }
  | { readonly kind: 'too_soon'; readonly seconds: number; readonly cause?: unknown };

async function answered(posted: Promise<{ status: number; type: string | undefined; text: string }>): Promise<Answer> {
  try {
    const { status, ...answer } = await posted;
    // The gateway counts for itself, also what other processes of this service asked.
    if (status === 429) return { kind: 'too_soon', seconds: AT_MOST.seconds };
    if (status >= 400 && status < 500) return { kind: 'refused', cause: `the gateway answered with status ${status}` };
    if (status !== 200) return { kind: 'unavailable', cause: `the gateway answered with status ${status}` };
    const said = answerSchema.parse(jsonOf(answer));
    if ('fault' in said) return said;
    const isReadable = readPreview(said.preview)?.digest !== undefined;
    return isReadable ? said : { kind: 'unavailable', cause: 'the answer of the gateway has no readable preview' };
  } catch (cause) {
    return { kind: 'unavailable', cause };
  }
}
